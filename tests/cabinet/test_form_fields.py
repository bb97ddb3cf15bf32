"""Numbers and amounts in forms are read as each language writes them."""

from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse
from django.utils import translation

from accounts.models import Member
from cabinet.forms import GroupedDecimalField, GroupedIntegerField
from tests.cabinet.settings_page import COMPANY
from tests.factories import PackageFactory, TariffFactory


@pytest.mark.parametrize("language", ["ru", "en"])
@pytest.mark.parametrize(
    "typed", ["1900", "1 900", " 1\u00a0900 ", "1\u202f900", "1\u2009900", "1,900", "+1,900"]
)
def test_grouped_digits_are_a_whole_number(typed: str, language: str) -> None:
    with translation.override(language):
        assert GroupedIntegerField().clean(typed) == 1900


def test_number_is_shown_in_groups_and_read_back() -> None:
    with translation.override("ru"):
        shown = GroupedIntegerField().prepare_value(1_000_000)

        assert shown == "1\u00a0000\u00a0000"
        assert GroupedIntegerField().clean(shown) == 1_000_000


@pytest.mark.parametrize(
    "typed", ["1,90", "1.900", "1,9000", "19,00", "1,900,0", "1900,5", "много"]
)
def test_possible_fraction_is_refused(typed: str) -> None:
    with pytest.raises(ValidationError):
        GroupedIntegerField().clean(typed)


@pytest.mark.parametrize(
    ("language", "typed", "amount"),
    [
        ("ru", "1 900,50", "1900.50"),
        ("ru", "1\u00a0900,50", "1900.50"),
        ("ru", "1900.50", "1900.50"),
        ("en", "1,900.50", "1900.50"),
        ("en", "1,900", "1900"),
        ("en", "1 900.50", "1900.50"),
    ],
)
def test_amount_is_read_as_the_language_writes_it(language: str, typed: str, amount: str) -> None:
    with translation.override(language):
        assert GroupedDecimalField().clean(typed) == Decimal(amount)


@pytest.mark.parametrize(("language", "typed"), [("ru", "1,900.50"), ("en", "1900,50")])
def test_amount_in_the_other_languages_form_is_refused(language: str, typed: str) -> None:
    with translation.override(language), pytest.raises(ValidationError):
        GroupedDecimalField(decimal_places=2).clean(typed)


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (
        "settings",
        COMPANY | {"section": "company", "brand": "http://x.ru", "country": "ZZ"},
        "brand",
    ),
    (
        "settings",
        {"section": "limits", "codes_per_10_min": "5", "codes_per_hour": "4"},
        "codes_per_hour",
    ),
    (
        "settings",
        {"section": "channels", "falls_back": "on", "fallback_max_cost": "x"},
        "fallback_max_cost",
    ),
    ("settings", {"section": "countries", "country_codes": "XX"}, "country_codes"),
    ("key-create", {"mode": "test", "scopes": "otp"}, "name"),
    ("key-create", {"name": "x", "mode": "test", "allowed_ips": "y"}, "scopes"),
    ("member-invite", {"role": "viewer"}, "email"),
    ("webhook-create", {"mode": "live"}, "url"),
    ("hook-create", {"mode": "test", "kind": "logto"}, "name"),
    ("link-create", {"url": "x"}, "url"),
    ("settings", {"section": "links", "link_utm": "&&"}, "link_utm"),
    ("text-create", {"locale": "ru"}, "body"),
    ("balance-profile", {"country": "ZZ"}, "country"),
    ("balance", {"package": "", "tokens": "5", "gateway": "sandbox"}, "tokens"),
]


@pytest.mark.parametrize(("name", "fields", "at_fault"), REFUSED)
def test_first_field_at_fault_is_focused_and_marked(
    client: Client, owner: Member, name: str, fields: dict[str, Any], at_fault: str
) -> None:
    PackageFactory.create()
    TariffFactory.create(tokens_from=100)

    page = client.post(reverse(name), fields)

    (focused,) = [tag for tag in page.content.decode().split("<") if " autofocus" in tag]
    assert "<title>Ошибка: " in page.content.decode()  # what a screen reader reads first
    assert f'id="id_{at_fault}"' in focused
    assert 'aria-invalid="true"' in focused or focused.startswith("fieldset")
    assert f"id_{at_fault}_error" in focused


def test_pasted_address_that_is_too_long_is_shown_whole(client: Client, owner: Member) -> None:
    long = f"https://example.com/?q={'x' * 2048}"

    refused = client.post(reverse("link-create"), {"url": long}).content.decode()

    assert 'id="id_url_error"' in refused
    assert long in refused
