"""What operators do to people: after a fresh proof, audited, and told to them."""

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import AuditEvent, Member, User
from tests.accounts.security.people import add_app, letters_to, make_person, signed_in
from tests.desk.operators import make_operator, sign_in
from tests.factories import CompanyFactory, UserFactory

pytestmark = pytest.mark.django_db

THIEF = "thief@example.net"


@pytest.fixture
def operator(client: Client, settings: Settings) -> User:
    """Signed in with the second factor an hour ago."""
    settings.OPERATOR_MFA = True
    user = make_operator()
    sign_in(client, user, "mfa", age=3600)
    return user


def add_address(client: Client, user: User) -> int:
    form = {"user": user.pk, "email": THIEF, "verified": "on", "primary": ""}
    return client.post(reverse("admin:account_emailaddress_add"), form).status_code


def add_owner(client: Client, user: User) -> None:
    form = {"company": CompanyFactory.create().pk, "user": user.pk, "role": "owner"}
    client.post(reverse("admin:accounts_member_add"), form)


def test_people_are_changed_only_after_a_fresh_proof(client: Client, operator: User) -> None:
    person = UserFactory.create()

    add_address(client, person)
    add_owner(client, person)
    opened = client.get(reverse("admin:auth_user_password_change", args=[person.pk]))

    assert not EmailAddress.objects.filter(email=THIEF).exists()
    assert not Member.objects.filter(user=person).exists()
    assert opened.headers["Location"].startswith(reverse("mfa_reauthenticate"))


def test_people_are_looked_at_without_one(client: Client, operator: User) -> None:
    path = reverse("admin:accounts_user_change", args=[UserFactory.create().pk])

    assert client.get(path).status_code == 200


def test_changes_are_audited_and_told(client: Client, operator: User) -> None:
    person = make_person()
    sign_in(client, operator, "mfa")

    add_address(client, person)

    assert EmailAddress.objects.get(email=THIEF).user == person
    event = AuditEvent.objects.get(action="desk.added")
    assert (event.user, THIEF in event.subject) == (operator, True)
    assert letters_to(person.email) == ["Оператор изменил вашу учётную запись"]


def test_new_owner_is_told(client: Client, operator: User) -> None:
    person = make_person()
    sign_in(client, operator, "mfa")

    add_owner(client, person)

    assert letters_to(person.email) == ["У компании новый владелец"]


def test_factor_that_an_operator_resets_ends_the_sessions(client: Client, operator: User) -> None:
    person = make_person()
    theirs = signed_in(person)
    add_app(person)
    sign_in(client, operator, "mfa")
    factor = Authenticator.objects.get(user=person)

    client.post(reverse("admin:mfa_authenticator_delete", args=[factor.pk]), {"post": "yes"})

    assert theirs.get(reverse("overview")).status_code == 302
    assert letters_to(person.email) == ["Оператор изменил вашу учётную запись"]
