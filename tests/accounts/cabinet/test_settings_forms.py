"""The cabinet's company settings."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.cabinet.settings_forms import lifetime_words
from accounts.models import Member

FORM = {
    "default_channel": "",
    "brand": "",
    "language": "ru",
    "code_length": "6",
    "allowed_countries": "",
    "default_link_lifetime": "",
}


def test_default_channel_is_changeable(client: Client, owner: Member) -> None:
    response = client.post(reverse("settings"), FORM | {"default_channel": "sms"})

    owner.company.refresh_from_db()
    assert response.status_code == 302
    assert owner.company.default_channel == "sms"


def test_every_setting_is_stored(client: Client, owner: Member) -> None:
    client.post(
        reverse("settings"),
        {
            "default_channel": "telegram",
            "brand": "Demo shop",
            "language": "en",
            "code_length": "4",
            "allowed_countries": "ru, kz kz",
            "all_countries": "on",
            "default_link_lifetime": "604800",
        },
    )

    stored = owner.company
    stored.refresh_from_db()
    assert (stored.default_channel, stored.brand, stored.language, stored.code_length) == (
        "telegram",
        "Demo shop",
        "en",
        4,
    )
    assert (stored.allowed_countries, stored.default_link_lifetime) == (["RU", "KZ"], 604_800)
    assert stored.all_countries


@pytest.mark.parametrize(
    "wrong",
    [
        {"default_channel": "pigeon"},
        {"code_length": "3"},
        {"code_length": "9"},
        {"allowed_countries": "RU, XX"},
        {"default_link_lifetime": "5"},
    ],
    ids=str,
)
def test_settings_refuse(client: Client, owner: Member, wrong: dict[str, str]) -> None:
    response = client.post(reverse("settings"), FORM | wrong)

    assert response.status_code == 200
    assert list(response.context["form"].errors) == list(wrong)
    assert not owner.company.audit.exists()


def test_lifetime_that_the_list_lacks_is_kept(client: Client, owner: Member) -> None:
    owner.company.default_link_lifetime = 90
    owner.company.save()

    client.post(reverse("settings"), FORM | {"default_link_lifetime": "90"})

    owner.company.refresh_from_db()
    assert owner.company.default_link_lifetime == 90


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(86_400, "1 день"), (7 * 86_400, "7 дней"), (2 * 3600, "2 часа"), (61, "61 секунда")],
)
def test_lifetime_in_russian_plurals(seconds: int, words: str) -> None:
    assert lifetime_words(seconds) == words


def test_own_limits_are_stored_and_may_be_given_up(client: Client, owner: Member) -> None:
    client.post(reverse("settings"), FORM | {"cool_down": "90", "codes_per_hour": "7"})
    owner.company.refresh_from_db()
    stored = (owner.company.cool_down, owner.company.codes_per_hour, owner.company.links_per_day)

    client.post(reverse("settings"), FORM)

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
    response = client.post(reverse("settings"), FORM | wrong)

    assert list(response.context["form"].errors) == list(wrong)
    assert not owner.company.audit.exists()


def test_what_the_operator_gave_beyond_them_may_stay(client: Client, owner: Member) -> None:
    owner.company.cool_down = 7200
    owner.company.save()

    client.post(reverse("settings"), FORM | {"cool_down": "7200", "brand": "Demo"})

    owner.company.refresh_from_db()
    assert (owner.company.cool_down, owner.company.brand) == (7200, "Demo")


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
