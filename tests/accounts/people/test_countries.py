"""The country proposed to a visitor, and the settings that follow from the chosen one."""

from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.urls import reverse
from pytest_django import Settings

from accounts.models import Company, User
from accounts.people import countries

NEW = {"email": "new@example.com", "company": "Demo", "password1": "a long new password"}


@pytest.mark.parametrize(
    ("spoken", "guessed"),
    [
        ("ru-RU,ru;q=0.9,en-US;q=0.8", "RU"),
        ("ru", "RU"),
        ("ru-KZ", "KZ"),
        ("kk,ru;q=0.5", "KZ"),
        ("en-US,en;q=0.9,ru;q=0.8", "RU"),
        ("en-GB,en;q=0.9", "GB"),
        ("en", ""),
        ("zz-ZZ", ""),
        ("", ""),
        ("*", ""),
    ],
)
def test_country_is_guessed_by_the_languages_of_the_browser(
    rf: RequestFactory, spoken: str, guessed: str
) -> None:
    assert countries.guess(rf.get("/", headers={"accept-language": spoken})) == guessed


@pytest.mark.parametrize(("header", "guessed"), [("kz", "KZ"), ("XX", "RU"), ("", "RU")])
def test_country_header_of_the_proxy_takes_precedence(
    rf: RequestFactory, settings: Settings, header: str, guessed: str
) -> None:
    settings.COUNTRY_HEADER = "HTTP_CF_IPCOUNTRY"

    request = rf.get("/", headers={"accept-language": "ru", "cf-ipcountry": header})

    assert countries.guess(request) == guessed


@pytest.mark.django_db
@pytest.mark.parametrize(("spoken", "title"), [("ru-KZ", "Казахстан"), ("en-GB", "United Kingdom")])
def test_sign_up_offers_the_guess_by_its_name(client: Client, spoken: str, title: str) -> None:
    page = client.get(reverse("account_signup"), headers={"accept-language": spoken})

    code = {"Казахстан": "KZ", "United Kingdom": "GB"}[title]
    assert f'<option value="{code}" selected>{title}</option>' in page.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(("country", "language"), [("KZ", "ru"), ("RU", "ru"), ("DE", "en")])
def test_company_language_follows_its_country(client: Client, country: str, language: str) -> None:
    client.post(
        reverse("account_signup"), NEW | {"country": country}, headers={"accept-language": "en"}
    )

    company = Company.objects.get()
    assert (company.country, company.language) == (country, language)
    assert User.objects.get().language == "en"  # that of the page


@pytest.mark.django_db
@pytest.mark.parametrize("fields", [{}, {"country": ""}, {"country": "ZZ"}, {"country": "Россия"}])
def test_sign_up_without_a_country_is_refused(client: Client, fields: dict[str, Any]) -> None:
    answer = client.post(reverse("account_signup"), NEW | fields)

    assert list(answer.context["form"].errors) == ["country"]
    assert not User.objects.exists()


def test_every_country_is_in_one_region() -> None:
    listed = [code for members in countries.REGIONS.values() for code in members.split()]

    assert sorted(listed) == sorted(countries.CODES)
