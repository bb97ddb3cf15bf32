"""New passwords are hard to guess, also for who knows the person; old ones go on working."""

import secrets
import time

import pytest
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from accounts import passwords
from accounts.models import User
from tests.factories import MemberFactory, UserFactory

SIGN_UP = {"email": "anna.petrova@daisyshop.example", "company": "Daisy", "country": "RU"}


@pytest.mark.parametrize(
    "password",
    [
        "kvitok2026",
        "Passw0rd123",
        "kvitok2026kvitok",
        "Kvitok-2026-Kvitok!",
        "Kv1t0k!!2026xx",
        "квиток2026квиток",
        "rdbnjrrdbnjr2026",
        "Passw0rd12345",
        "P@ssw0rdP@ssw0rd",
        "пароль123456",
        "gfhjkm123456",
        "qwertyuiop[]",
        "йцукенгшщзхъ",
        "1qaz2wsx3edc",
        "zaq12wsxcde3",
        "123456789012",
        "aaaaaaaaaaaaaa",
        "abcdefghijkl",
        "iloveyou2024!",
        "Welcome2024!!",
        "moskva2026moskva",
        "dragonmaster99",
        "trustno1trustno1",
        "Daisy-2026-daisy",
        "daisyshop-2026",
        "petrova1990anna",
    ],
)
@pytest.mark.django_db
def test_guessable_password_is_refused_at_sign_up(client: Client, password: str) -> None:
    page = client.post(
        reverse("account_signup"),
        SIGN_UP | {"password1": password},
        headers={"accept-language": "ru"},
    )

    assert (page.status_code, User.objects.count()) == (200, 0)
    said = " ".join(page.context["form"].errors["password1"])
    assert said.count("Возьмите четыре слова, никак не связанных друг с другом") == 1


@pytest.mark.parametrize(
    "password",
    [
        "correct horse battery",
        "plum Tractor 81 seven",
        "лошадь батарея скрепка",
        "m8Qz-3vRk-Lw2p",
        "wuqomexytifa",
    ],
)
@pytest.mark.django_db
def test_other_password_is_taken(client: Client, password: str) -> None:
    page = client.post(reverse("account_signup"), SIGN_UP | {"password1": password})

    assert (page.status_code, User.objects.count()) == (302, 1)


@pytest.mark.parametrize("password", ["m8Qz-3vRkLw", "wuqomexytif"])
def test_eleven_characters_are_too_few(password: str) -> None:
    with pytest.raises(ValidationError) as caught:
        validate_password(password)

    assert [error.code for error in caught.value.error_list] == ["password_too_short"]


@pytest.mark.django_db
def test_words_of_the_persons_companies_are_known() -> None:
    member = MemberFactory.create(company__name="Vetryak", company__brand="Solnyshkin")

    for password in ("vetryak-2026-x", "Solnyshkin2026"):
        with pytest.raises(ValidationError):
            validate_password(password, member.user)


@pytest.mark.django_db
def test_old_password_goes_on_working(client: Client) -> None:
    user = UserFactory.create()
    user.set_password("kvitok2026")
    user.save()

    client.post(reverse("account_login"), {"login": user.email, "password": "kvitok2026"})

    assert client.session["_auth_user_id"] == str(user.pk)


def test_generated_passwords_are_nearly_always_enough() -> None:
    made = [secrets.token_urlsafe(12) for _ in range(2000)]

    refused = [one for one in made if passwords.worth(one) < passwords.ENOUGH]

    assert len(refused) <= 2


def test_long_passwords_are_judged_quickly() -> None:
    passwords.worth("warm up the lists")
    began = time.perf_counter()

    passwords.worth("4@8({[</369&#!1/|0$5+7%2" * 40)

    assert time.perf_counter() - began < 2
