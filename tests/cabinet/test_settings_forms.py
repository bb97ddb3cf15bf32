"""Each section of the settings is stored alone, within the operator's bounds."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Member
from tests.cabinet.settings_page import COMPANY, form_of, send


def test_every_section_is_stored_alone(client: Client, owner: Member) -> None:
    send(client, "company", {"name": "Daisy", "brand": "Shop", "language": "en", "country": "KZ"})
    send(client, "codes", {"code_length": "4"})
    send(client, "links", {"default_link_lifetime": "604800"})
    send(client, "countries", {"all_countries": "on", "allowed_countries": ["RU", "KZ"]})

    stored = owner.company
    stored.refresh_from_db()
    assert stored.name == "Daisy"
    assert stored.brand == "Shop"
    assert stored.language == "en"
    assert stored.country == "KZ"
    assert (stored.code_length, stored.default_link_lifetime) == (4, 604_800)
    assert (stored.all_countries, stored.allowed_countries) == (True, ["KZ", "RU"])
    assert stored.audit.count() == 4


def test_every_field_of_a_section_is_on_the_page(client: Client, owner: Member) -> None:
    """One that is left out would be emptied by saving the others."""
    page = client.get(reverse("settings"))

    fields = [name for section in page.context["sections"] for name in section.form.fields]
    assert len(fields) > 20
    assert [name for name in fields if f'name="{name}"' not in page.content.decode()] == []


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
def test_wrong_setting_is_refused_at_its_field(
    client: Client, owner: Member, slug: str, fields: dict[str, Any], at_fault: str
) -> None:
    response = send(client, slug, fields)

    assert response.status_code == 200
    assert list(form_of(response, slug).errors) == [at_fault]
    assert not owner.company.audit.exists()


def test_unknown_section_changes_nothing(client: Client, owner: Member) -> None:
    response = client.post(reverse("settings"), {"section": "pets", "code_length": "4"})

    owner.company.refresh_from_db()
    assert (response.status_code, owner.company.code_length) == (200, 6)


def test_own_limits_are_stored_and_can_be_cleared(client: Client, owner: Member) -> None:
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
def test_limits_stay_within_the_operators_bounds(
    client: Client, owner: Member, wrong: dict[str, str]
) -> None:
    response = send(client, "limits", wrong)

    assert list(form_of(response, "limits").errors) == list(wrong)
    assert not owner.company.audit.exists()


def test_limit_set_by_the_operator_beyond_the_bounds_may_stay(
    client: Client, owner: Member
) -> None:
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
        ({"brand": "<b>", "language": "xx", "code_length": "99"}, "Код 123456."),
    ],
    ids=str,
)
def test_preview_follows_what_is_filled_in(
    client: Client, owner: Member, query: dict[str, str], text: str
) -> None:
    body = client.get(reverse("settings-preview"), query).content.decode()

    assert text in body
    assert (query["brand"] or owner.company.name).replace("<b>", "&lt;b&gt;") in body
