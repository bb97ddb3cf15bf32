"""New passwords must be hard to guess; existing ones keep working."""

from typing import Any
from unicodedata import normalize

import pytest
from allauth.account.adapter import get_adapter
from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from django.contrib.auth.hashers import get_hashers
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from accounts.models import User
from accounts.sign_in import passwords
from tests.accounts.security.people import confirm, make_person, signed_in
from tests.factories import PASSWORD, MemberFactory, UserFactory

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
    ],
)
def test_guessable_password_is_refused(password: str) -> None:
    with pytest.raises(ValidationError):
        validate_password(password)


@pytest.mark.parametrize(
    "password", ["kvitok2026", "Daisy-2026-daisy", "daisyshop-2026", "petrova1990anna"]
)
@pytest.mark.django_db
def test_guessable_password_is_refused_at_sign_up(client: Client, password: str) -> None:
    page = client.post(
        reverse("account_signup"),
        SIGN_UP | {"password1": password},
        headers={"accept-language": "ru"},
    )

    assert (page.status_code, User.objects.count()) == (200, 0)
    error_text = " ".join(page.context["form"].errors["password1"])
    assert error_text.count("Возьмите четыре слова, никак не связанных друг с другом") == 1


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
def test_strong_password_is_accepted(password: str) -> None:
    validate_password(password)


@pytest.mark.parametrize("password", ["m8Qz-3vRkLw", "wuqomexytif"])
def test_eleven_characters_are_too_few(password: str) -> None:
    with pytest.raises(ValidationError) as caught:
        validate_password(password)

    assert [error.code for error in caught.value.error_list] == ["password_too_short"]


@pytest.mark.django_db
def test_words_of_the_users_companies_count_as_known() -> None:
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


HUGE = "4@8({[</369&#!1/|0$5+7%2" * 174_000  # 4 MB


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One item per step of rating."""
    parts: list[str] = []
    step = passwords._next_part

    def count(text: str, start: int, obvious: frozenset[str]) -> tuple[str, float]:
        parts.append(text)
        return step(text, start, obvious)

    monkeypatch.setattr(passwords, "_next_part", count)
    return parts


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The length of each password that is hashed."""
    lengths: list[int] = []
    for hasher in get_hashers():
        encode = type(hasher).encode

        def count(self: Any, password: str, *args: Any, encode: Any = encode, **kwargs: Any) -> str:
            lengths.append(len(password))
            return str(encode(self, password, *args, **kwargs))

        monkeypatch.setattr(type(hasher), "encode", count)
    return lengths


@pytest.mark.parametrize("password", [HUGE, "\ufdfa" * 1000, "\u0130" * 1000])
def test_only_the_beginning_of_a_password_is_rated(judged: list[str], password: str) -> None:
    """U+FDFA becomes eighteen characters by NFKC, U+0130 two in lower case."""
    passwords.strength(password)

    assert 0 < len(judged) <= 6 * passwords.RATED_LENGTH


def test_overlong_password_is_refused_before_rating(judged: list[str]) -> None:
    for password in (HUGE, "x" * (passwords.MAX_LENGTH + 1)):
        with pytest.raises(ValidationError) as caught:
            validate_password(password)
        assert "max_length" in [error.code for error in caught.value.error_list]

    assert judged == []


@pytest.mark.django_db
def test_forms_refuse_huge_passwords_before_any_work(judged: list[str], hashed: list[int]) -> None:
    user = make_person()
    client = signed_in(user)
    confirm(client)
    user.refresh_from_db()  # the e-mail's key depends on when they signed in last
    key = {"uidb36": user_pk_to_url_str(user), "key": default_token_generator.make_token(user)}
    reset = Client()
    opened = reset.get(reverse("account_reset_password_from_key", kwargs=key), follow=True)
    twice = {"password1": HUGE[: 2**20], "password2": HUGE[: 2**20]}
    judged.clear()
    hashed.clear()

    responses = [
        Client().post(reverse("account_signup"), SIGN_UP | {"password1": HUGE}),
        Client().post(reverse("account_login"), {"login": user.email, "password": HUGE}),
        client.post(reverse("account_reauthenticate"), {"password": HUGE}),
        client.post(reverse("account_change_password"), {"oldpassword": PASSWORD} | twice),
        client.post(reverse("account_change_password"), {"oldpassword": HUGE}),
        reset.post(opened.redirect_chain[-1][0], twice),
    ]

    assert [response.status_code for response in responses] == [200] * 6
    assert (judged, max(hashed)) == ([], len(PASSWORD))  # the current one, to compare


COMPOSED = "ёлочный йод 77 шишек"
DECOMPOSED = normalize("NFD", COMPOSED)


@pytest.mark.django_db
@pytest.mark.parametrize("chosen", [COMPOSED, DECOMPOSED])
@pytest.mark.parametrize("typed", [COMPOSED, DECOMPOSED])
def test_password_is_the_same_from_every_keyboard(client: Client, chosen: str, typed: str) -> None:
    user = UserFactory.create()
    user.set_password(chosen)
    user.save()

    client.post(reverse("account_login"), {"login": user.email, "password": typed})

    assert "_auth_user_id" in client.session
    assert get_adapter().reauthenticate(user, typed)
    assert not user.check_password(typed.replace("77", "78"))


def test_password_manager_finds_the_page_that_changes_it(client: Client) -> None:
    response = client.get("/.well-known/change-password")

    assert (response.status_code, response["Location"]) == (302, reverse("account_change_password"))
    assert client.get("/.well-known/does-not-exist").status_code == 404
