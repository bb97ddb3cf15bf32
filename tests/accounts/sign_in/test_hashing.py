"""A flood of sign-ins leaves threads and database connections to codes and links."""

from contextlib import ExitStack
from http import HTTPStatus
from threading import BoundedSemaphore

import pytest
from django.conf import settings as production
from django.contrib.auth.hashers import check_password, get_hasher, make_password
from django.db import connection
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.sign_in import passwords

OURS = "accounts.sign_in.passwords.PBKDF2PasswordHasher"
FIELDS = {"login": "nobody@example.com", "password": "wrong password"}


@pytest.fixture(autouse=True)
def real_hashes(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    assert production.PASSWORD_HASHERS[-1] == OURS
    settings.PASSWORD_HASHERS = [OURS]
    monkeypatch.setattr(passwords.PBKDF2PasswordHasher, "iterations", 1)
    monkeypatch.setattr(passwords.HASHES, "timeout", 0.05)


@pytest.mark.django_db(transaction=True)
def test_hash_holds_no_database_connection() -> None:
    connection.ensure_connection()

    assert check_password("right", make_password("right"))

    assert connection.connection is None


@pytest.mark.django_db
@pytest.mark.parametrize(
    "taken", [passwords.HASHES.turns, passwords.HASHES.queue], ids=["turns", "queue"]
)
def test_sign_in_beyond_what_is_hashed_at_once_is_refused(
    client: Client, taken: BoundedSemaphore
) -> None:
    with ExitStack() as places:
        for _ in range(taken._value):
            places.enter_context(taken)
        busy = client.post(reverse("account_login"), FIELDS)
    free = client.post(reverse("account_login"), FIELDS)

    assert (busy.status_code, free.status_code) == (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.OK)


def test_earlier_hashes_are_read() -> None:
    assert get_hasher("pbkdf2_sha256").algorithm == "pbkdf2_sha256"
