"""The cabinet's company settings."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import Member
from cabinet.settings_forms import lifetime_words
from tests.cabinet.settings_page import COMPANY, form_of, send


def test_default_channel_is_changeable(client: Client, owner: Member) -> None:
    response = send(client, "channels", {"default_channel": "sms"})

    owner.company.refresh_from_db()
    assert response.status_code == 302
    assert response.headers["Location"] == reverse("settings") + "#channels"
    assert owner.company.default_channel == "sms"


def test_every_section_is_stored_alone(client: Client, owner: Member) -> None:
    send(client, "company", {"name": "Daisy", "brand": "Shop", "language": "en", "country": "KZ"})
    send(client, "codes", {"code_length": "4"})
    send(client, "links", {"default_link_lifetime": "604800"})
    send(client, "countries", {"all_countries": "on", "allowed_countries": ["RU", "KZ"]})

    stored = owner.company
    stored.refresh_from_db()
    assert (stored.name, stored.brand, stored.language, stored.country) == (
        "Daisy",
        "Shop",
        "en",
        "KZ",
    )
    assert (stored.code_length, stored.default_link_lifetime) == (4, 604_800)
    assert (stored.all_countries, stored.allowed_countries) == (True, ["KZ", "RU"])
    assert stored.audit.count() == 4


@pytest.mark.parametrize(
    ("slug", "fields", "at_fault"),
    [
        ("channels", {"default_channel": "pigeon"}, "default_channel"),
        ("codes", {"code_length": "3"}, "code_length"),
        ("codes", {"code_length": "9"}, "code_length"),
        ("countries", {"allowed_countries": ["XX"]}, "allowed_countries"),
        ("countries", {"country_codes": "RU, XX"}, "country_codes"),
        ("links", {"default_link_lifetime": "5"}, "default_link_lifetime"),
        ("company", COMPANY | {"name": "daisy.com"}, "name"),
        ("company", COMPANY | {"name": ""}, "name"),
        ("company", COMPANY | {"country": "ZZ"}, "country"),
        ("company", COMPANY | {"language": "xx"}, "language"),
        ("security", {"requires_second_factor": "on"}, "requires_second_factor"),
    ],
    ids=str,
)
def test_settings_refuse(
    client: Client, owner: Member, slug: str, fields: dict[str, Any], at_fault: str
) -> None:
    response = send(client, slug, fields)

    assert response.status_code == 200
    assert list(form_of(response, slug).errors) == [at_fault]
    assert not owner.company.audit.exists()


def test_unknown_section_changes_nothing(client: Client, owner: Member) -> None:
    answer = client.post(reverse("settings"), {"section": "pets", "code_length": "4"})

    owner.company.refresh_from_db()
    assert (answer.status_code, owner.company.code_length) == (200, 6)


def test_refused_name_shows_nowhere_else(client: Client, owner: Member) -> None:
    page = send(client, "company", COMPANY | {"name": "evil.example/x"}).content.decode()

    assert page.count("evil.example/x") == 1


def test_lifetime_that_the_list_lacks_is_kept(client: Client, owner: Member) -> None:
    owner.company.default_link_lifetime = 90
    owner.company.save()

    send(client, "links", {"default_link_lifetime": "90"})

    owner.company.refresh_from_db()
    assert owner.company.default_link_lifetime == 90


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(86_400, "1 день"), (7 * 86_400, "7 дней"), (2 * 3600, "2 часа"), (61, "61 секунда")],
)
def test_lifetime_in_russian_plurals(seconds: int, words: str) -> None:
    assert lifetime_words(seconds) == words


def test_own_limits_are_stored_and_may_be_given_up(client: Client, owner: Member) -> None:
    send(client, "limits", {"cool_down": "90", "codes_per_hour": "7"})
    owner.company.refresh_from_db()
    stored = (owner.company.cool_down, owner.company.codes_per_hour, owner.company.links_per_day)

    send(client, "limits", {})

    owner.company.refresh_from_db()
    assert stored == (90, 7, None)
    assert owner.company.cool_down is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"cool_down": "29"},
        {"cool_down": "3601"},
        {"codes_per_10_min": "0"},
        {"codes_per_10_min": "11"},
        {"codes_per_hour": "4"},  # fewer than the service's five in ten minutes
        {"codes_per_day": "21"},
        {"links_per_day": "4"},
        {"links_per_10_min": "x"},
    ],
    ids=str,
)
def test_limits_stay_within_the_operator_s(
    client: Client, owner: Member, wrong: dict[str, str]
) -> None:
    response = send(client, "limits", wrong)

    assert list(form_of(response, "limits").errors) == list(wrong)
    assert not owner.company.audit.exists()


def test_what_the_operator_gave_beyond_them_may_stay(client: Client, owner: Member) -> None:
    owner.company.cool_down = 7200
    owner.company.save()

    send(client, "limits", {"cool_down": "7200", "codes_per_hour": "6"})

    owner.company.refresh_from_db()
    assert (owner.company.cool_down, owner.company.codes_per_hour) == (7200, 6)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"brand": "Shop", "language": "en", "code_length": "4"}, "Your code is 1234. Do not"),
        ({"brand": "", "language": "ru", "code_length": "8"}, "Код 12345678. Никому"),
        ({"brand": "<b>", "language": "de", "code_length": "99"}, "Код 123456."),
    ],
    ids=str,
)
def test_preview_follows_what_is_filled_in(
    client: Client, owner: Member, query: dict[str, str], text: str
) -> None:
    body = client.get(reverse("settings-preview"), query).content.decode()

    assert text in body
    assert (query["brand"] or owner.company.name).replace("<b>", "&lt;b&gt;") in body


def test_page_shows_the_message_as_it_is_set(client: Client, owner: Member) -> None:
    owner.company.brand = "Лавка"
    owner.company.save()

    assert "Никому его не сообщайте. Лавка" in client.get(reverse("settings")).content.decode()


def test_chosen_countries_are_named_above_the_lists(client: Client, owner: Member) -> None:
    without = client.get(reverse("settings")).content.decode()
    send(client, "countries", {"allowed_countries": ["RU", "KZ"]})

    page = client.get(reverse("settings")).content.decode()

    assert "<p data-chosen-countries hidden>" in without
    assert "<b data-names>Россия, Казахстан</b>" in page


def test_log_of_requests_that_is_off_has_no_days(
    client: Client, owner: Member, settings: Settings
) -> None:
    settings.REQUEST_LOG_DAYS = 0
    off = client.get(reverse("settings")).content.decode()
    settings.REQUEST_LOG_DAYS = 14

    page = client.get(reverse("settings")).content.decode()

    assert "Запросы к API" not in off
    assert "Запросы к API, с замаскированными номерами: 14 дней." in page
