"""Sessions are listed and ended, by their owner and by changes of the account."""

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts import purges
from accounts.models import User, UserSession
from accounts.names import device_name
from accounts.purges import purge_sessions
from accounts.security import sessions
from tests.accounts.security.people import (
    FIREFOX,
    add_app,
    confirm,
    confirm_by_code,
    make_person,
    signed_in,
)
from tests.factories import PASSWORD
from tests.operator_admin.operators import code_now

pytestmark = pytest.mark.django_db

NEW_PASSWORD = "another long passphrase 7"


@pytest.fixture
def client(user: User) -> Client:
    return signed_in(user)


@pytest.fixture
def other(user: User) -> Client:
    """The same person in another browser."""
    return signed_in(user)


def is_in(client: Client) -> bool:
    return client.get(reverse("overview")).status_code == 200


def test_sessions_are_listed_with_device_address_and_mark(client: Client, other: Client) -> None:
    rows = client.get(reverse("session-list")).context["sessions"]
    page = client.get(reverse("session-list")).content.decode()

    assert [(session.device, ip, is_this) for session, ip, _url, is_this in rows] == [
        ("Firefox, Linux", "127.0.0.1", True),
        ("Firefox, Linux", "127.0.0.1", False),
    ]
    assert page.count("этот сеанс") == 1
    assert "Выполнен вход" in page


def test_one_session_is_ended(client: Client, other: Client) -> None:
    row = UserSession.objects.get(session_key=other.session.session_key)

    client.post(reverse("session-end", args=[row.pk]))

    assert (is_in(client), is_in(other)) == (True, False)
    assert UserSession.objects.count() == 1


def test_all_other_sessions_are_ended(client: Client, other: Client, user: User) -> None:
    third = signed_in(user)

    page = client.post(reverse("session-end-others"), follow=True).content.decode()

    assert (is_in(client), is_in(other), is_in(third)) == (True, False, False)
    assert "Завершены 2 других сеанса" in page


def test_unrecorded_session_ends_with_the_others(client: Client, user: User) -> None:
    forgotten = Client()
    forgotten.force_login(user)
    UserSession.objects.exclude(session_key=client.session.session_key).delete()

    client.post(reverse("session-end-others"))

    assert (is_in(client), is_in(forgotten)) == (True, False)


def test_sessions_of_other_users_are_not_found(client: Client) -> None:
    stranger = signed_in(make_person("boris@example.com"))
    row = UserSession.objects.get(session_key=stranger.session.session_key)

    response = client.post(reverse("session-end", args=[row.pk]))

    assert (response.status_code, is_in(stranger)) == (404, True)


def test_password_change_ends_every_session(client: Client, other: Client, user: User) -> None:
    confirm(client)
    form = {"oldpassword": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    client.post(reverse("account_change_password"), form)

    assert (is_in(client), is_in(other)) == (False, False)
    assert is_in(signed_in(user, NEW_PASSWORD))


@pytest.mark.django_db(transaction=True)
def test_new_factor_ends_the_other_sessions(client: Client, other: Client) -> None:
    confirm(client)
    secret = client.get(reverse("mfa_activate_totp")).context["form"].secret
    client.post(reverse("mfa_activate_totp"), {"code": code_now(secret)})

    assert (is_in(client), is_in(other)) == (True, False)
    assert client.get(reverse("mfa_view_recovery_codes")).status_code == 200


def test_removed_factor_ends_the_other_sessions(client: Client, other: Client, user: User) -> None:
    add_app(user)
    confirm_by_code(client)

    client.post(reverse("mfa_deactivate_totp"))

    assert not user.authenticator_set.exists()
    assert (is_in(client), is_in(other)) == (True, False)


@pytest.mark.django_db(transaction=True)
def test_new_recovery_codes_end_the_other_sessions(
    client: Client, other: Client, user: User
) -> None:
    add_app(user)
    confirm_by_code(client)

    client.post(reverse("mfa_generate_recovery_codes"))

    assert (is_in(client), is_in(other)) == (True, False)


def test_sign_out_deletes_the_session_row(client: Client) -> None:
    client.post(reverse("account_logout"))

    assert not UserSession.objects.exists()


def test_session_activity_is_recorded_once_a_minute(client: Client) -> None:
    past = timezone.now() - timedelta(minutes=2)
    UserSession.objects.update(last_seen_at=past)

    client.get(reverse("overview"))
    assert UserSession.objects.get().last_seen_at == past
    sessions._recorded_at.clear()
    client.get(reverse("overview"))

    assert UserSession.objects.get().last_seen_at > past


def test_rows_of_expired_sessions_are_purged(client: Client, other: Client) -> None:
    Session.objects.filter(session_key=other.session.session_key).update(
        expire_date=timezone.now() - timedelta(seconds=1)
    )

    assert purge_sessions(100) == 2  # Django's row and ours
    assert (Session.objects.count(), UserSession.objects.count()) == (1, 1)
    assert len(client.get(reverse("session-list")).context["sessions"]) == 1


def test_expired_sessions_of_visitors_are_purged_however_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They have no row in our table; a stranger may create more an hour than one batch deletes."""
    monkeypatch.setattr(purges, "BATCH_SIZE", 10)
    past = timezone.now() - timedelta(seconds=1)
    Session.objects.bulk_create(
        Session(session_key=f"visitor{number}", session_data="", expire_date=past)
        for number in range(35)
    )

    purges.purge()

    assert not Session.objects.filter(session_key__startswith="visitor").exists()


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (FIREFOX, "Firefox, Linux"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, "
            "like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
            "Safari, iPhone",
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
            "Chrome/138.0.0.0 YaBrowser/25.6.0.0 Safari/537.36",
            "Yandex Browser, Windows",
        ),
        (
            "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) "
            "Chrome/142.0.0.0 Mobile Safari/537.36",
            "Chrome, Android",
        ),
        ("curl/8.5.0", ""),
    ],
)
def test_device_name_is_readable(user_agent: str, name: str) -> None:
    assert device_name(user_agent) == name
