import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Member
from accounts.settings_forms import lifetime_words

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
