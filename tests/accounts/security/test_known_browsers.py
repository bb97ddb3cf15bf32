"""A sign-in in an unknown browser is notified by e-mail, one in a known browser is not."""

from datetime import timedelta

import pytest
from django.core import signing
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Mail, User
from accounts.security import sessions
from tests.accounts.security.people import FIREFOX, add_app, make_person, signed_in
from tests.factories import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture
def user() -> User:
    return make_person(user__date_joined=timezone.now() - timedelta(days=30))


def emails() -> int:
    return Mail.objects.filter(subject__contains="новом браузере").count()


def sign_in_again(client: Client, user: User, password: str = PASSWORD) -> None:
    client.post(reverse("account_logout"))
    client.post(reverse("account_login"), {"login": user.email, "password": password})


def test_first_sign_in_in_a_browser_is_notified(user: User) -> None:
    signed_in(user)

    (mail,) = Mail.objects.all()
    assert mail.to == user.email
    assert "новом браузере" in mail.subject
    assert "Firefox, Linux" in mail.text
    assert "127.0.0.1" in mail.text


def test_sign_in_in_a_known_browser_is_not_notified(user: User) -> None:
    client = signed_in(user)

    sign_in_again(client, user)

    assert emails() == 1
    cookie = client.cookies[sessions.BROWSER_COOKIE]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert int(cookie["max-age"]) == sessions.BROWSER_LIFETIME.total_seconds()
    assert user.email not in cookie.value


def test_other_browser_from_the_same_address_is_notified(user: User) -> None:
    signed_in(user)
    signed_in(user)

    assert emails() == 2


def test_new_account_gets_no_security_email() -> None:
    signed_in(make_person())

    assert emails() == 0


def test_cookie_of_another_account_does_not_count(user: User) -> None:
    other = make_person("boris@example.com", user__date_joined=user.date_joined)
    client = signed_in(other)

    sign_in_again(client, user)
    assert Mail.objects.filter(to=user.email).count() == 1
    sign_in_again(client, other)
    sign_in_again(client, user)

    assert emails() == 2  # both are known in this browser now


FORGED = ["", "x", "{}", signing.dumps({"1": "x"}, salt="another")]


@pytest.mark.parametrize("forged", FORGED, ids=["empty", "word", "plain", "of another salt"])
def test_forged_cookie_does_not_count(user: User, forged: str) -> None:
    client = Client(headers={"user-agent": FIREFOX})
    client.cookies[sessions.BROWSER_COOKIE] = forged

    client.post(reverse("account_login"), {"login": user.email, "password": PASSWORD})

    assert emails() == 1


def test_browser_is_unknown_after_a_password_change(user: User) -> None:
    attacker = signed_in(user)
    user.set_password("another long passphrase 7")
    user.save()

    sign_in_again(attacker, user, "another long passphrase 7")

    assert emails() == 2


def test_ended_sessions_make_only_their_browsers_unknown(user: User) -> None:
    attacker = signed_in(user)
    own = signed_in(user)
    assert emails() == 2

    own.post(reverse("session-end-others"))
    sign_in_again(own, user)
    assert emails() == 2
    sign_in_again(attacker, user)

    assert emails() == 3


def test_password_without_the_second_factor_is_notified_once_a_day(user: User) -> None:
    add_app(user)
    attacker = Client(headers={"user-agent": FIREFOX})
    for _attempt in range(2):
        attacker.post(reverse("account_login"), {"login": user.email, "password": PASSWORD})
        attacker.post(reverse("mfa_authenticate"), {"code": "000000"})

    (mail,) = Mail.objects.all()
    assert "пароль" in mail.subject
    assert sessions.BROWSER_COOKIE not in attacker.cookies


def test_cookie_does_not_grow(user: User) -> None:
    client = signed_in(user)
    held = {str(number): "x" * 32 for number in range(40)}
    client.cookies[sessions.BROWSER_COOKIE] = signing.dumps(held, salt=sessions.BROWSER_SALT)

    sign_in_again(client, user)

    cookie = signing.loads(
        client.cookies[sessions.BROWSER_COOKIE].value, salt=sessions.BROWSER_SALT
    )
    assert len(cookie) == sessions.MAX_ACCOUNTS
    assert str(user.pk) in cookie
