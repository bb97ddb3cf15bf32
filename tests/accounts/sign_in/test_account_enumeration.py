"""Neither responses nor work reveal whether an address has an account.

Work is counted, not timed: hashes, which take most of the time, and statements.
"""

from collections.abc import Callable
from typing import NamedTuple

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import Settings

from accounts.models import Company, Mail, User
from tests.factories import MemberFactory

pytestmark = pytest.mark.django_db

KNOWN, UNKNOWN, INACTIVE, UNUSABLE = (
    f"{name}@example.com" for name in ("known", "unknown", "inactive", "unusable")
)
PASSWORD = "plum Tractor 81 seven"


class Work(NamedTuple):
    hashes: int
    writes: list[list[str]]
    reads: int
    emails: int
    status: int
    location: str


@pytest.fixture
def hashes(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> list[str]:
    """The hashed passwords; each hash is cheap here, and still counted."""
    made: list[str] = []
    encode = PBKDF2PasswordHasher.encode

    def count(
        self: PBKDF2PasswordHasher, password: str, salt: str, iterations: int | None = None
    ) -> str:
        made.append(password)
        return encode(self, password, salt, iterations)

    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
    monkeypatch.setattr(PBKDF2PasswordHasher, "iterations", 1)
    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", count)
    return made


@pytest.fixture(autouse=True)
def people(hashes: list[str], settings: Settings) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    for email in (KNOWN, INACTIVE, UNUSABLE):
        user = User.objects.create_user(email, "their own password 7", is_active=email != INACTIVE)
        EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)
        MemberFactory.create(user=user)
    unusable = User.objects.get(email=UNUSABLE)
    unusable.set_unusable_password()
    unusable.save()


@pytest.fixture
def work_of(hashes: list[str]) -> Callable[[str, dict[str, str]], Work]:
    def measure(page: str, data: dict[str, str]) -> Work:
        client = Client()
        client.get(reverse(page))
        emails = Mail.objects.count()
        hashes.clear()
        with CaptureQueriesContext(connection) as queries:
            response = client.post(reverse(page), data)
        sql = [query["sql"] for query in queries]
        writes = [
            statement.split()[:3]
            for statement in sql
            if statement.startswith(("INSERT", "UPDATE", "DELETE"))
        ]
        return Work(
            len(hashes),
            writes,
            sum(statement.startswith("SELECT") for statement in sql),
            Mail.objects.count() - emails,
            response.status_code,
            response.headers.get("Location", ""),
        )

    return measure


Measure = Callable[[str, dict[str, str]], Work]


def expect_same(one: Work, other: Work) -> None:
    """Tolerates a read by primary key more or less: it takes 0.1 ms, a hash 400 ms."""
    assert one._replace(reads=0) == other._replace(reads=0)
    assert abs(one.reads - other.reads) <= 3


@pytest.mark.parametrize("email", [KNOWN, INACTIVE, UNUSABLE])
def test_sign_up_does_the_same_for_known_and_new_addresses(work_of: Measure, email: str) -> None:
    data = {"company": "Daisy", "country": "RU", "password1": PASSWORD}

    known = work_of("account_signup", data | {"email": email})
    new = work_of("account_signup", data | {"email": UNKNOWN})

    expect_same(known, new)
    assert known.hashes == 1


@pytest.mark.parametrize("password", ["wrong one", "wrong и\u0306"])
@pytest.mark.parametrize("email", [KNOWN, INACTIVE, UNUSABLE])
def test_log_in_does_the_same_for_known_and_unknown_addresses(
    work_of: Measure, email: str, password: str
) -> None:
    known = work_of("account_login", {"login": email, "password": password})
    unknown = work_of("account_login", {"login": UNKNOWN, "password": password})

    expect_same(known, unknown)
    assert known.hashes == 1


@pytest.mark.parametrize("email", [KNOWN, INACTIVE, UNUSABLE])
def test_reset_does_the_same_for_known_and_unknown_addresses(work_of: Measure, email: str) -> None:
    known = work_of("account_reset_password", {"email": email})
    unknown = work_of("account_reset_password", {"email": UNKNOWN})

    expect_same(known, unknown)
    assert known.emails == 1


def test_known_address_keeps_its_account_as_it_was() -> None:
    before = list(User.objects.order_by("pk").values())
    companies = Company.objects.count()

    data = {"email": KNOWN, "company": "Daisy", "country": "RU", "password1": PASSWORD}
    Client().post(reverse("account_signup"), data)

    assert list(User.objects.order_by("pk").values()) == before
    assert Company.objects.count() == companies
    assert Mail.objects.get().template == "account/email/account_already_exists"
