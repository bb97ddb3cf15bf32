"""The home page: its prices, packages and code."""

from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from api_docs.pages import samples
from billing.models import Package

pytestmark = pytest.mark.django_db


def body(client: Client, query: str = "") -> str:
    response = client.get(reverse("home") + query)
    assert response.status_code == 200
    return response.content.decode()


def test_prices_are_those_of_the_settings(client: Client, settings: Settings) -> None:
    settings.PRICES = {"whatsapp": 3, "telegram": 1, "sms": 22}

    page = body(client)

    assert "3 токена" in page
    assert "22 токена" in page
    assert "16 токенов" not in page


def test_packages_on_sale_are_shown_and_no_others(client: Client) -> None:
    Package.objects.all().delete()
    Package.objects.create(code="some", tokens=4200, price=Decimal("8400.00"))
    Package.objects.create(code="gone", tokens=7700, price=Decimal("100.00"), is_active=False)

    page = body(client)

    assert "4\xa0200" in page
    assert "8\xa0400,00\xa0₽" in page
    assert "7\xa0700" not in page


@pytest.mark.parametrize("language", samples.samples("send_code"))
def test_code_is_shown_in_the_requested_language(client: Client, language: str) -> None:
    sample = samples.samples("send_code")[language]

    page = body(client, f"?lang={language}")

    assert samples.highlighted(sample.code, sample.language.lexer) in page
    assert f"docs/examples/{sample.file}" in page
    assert client.cookies["sample"].value == language
