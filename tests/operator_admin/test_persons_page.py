"""The page that exports and erases everything kept about a phone."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import AuditEvent, Company, User
from channels.models import Message
from tests.factories import MessageFactory, UserFactory
from tests.operator_admin.operators import make_operator, sign_in
from tests.persons.traces import PHONE, create_all_data, create_service_data

pytestmark = pytest.mark.django_db
SPELLING = "8 916 123-45-67"


@pytest.fixture
def operator(client: Client, settings: Settings) -> User:
    settings.OPERATOR_MFA = True
    user = make_operator()
    sign_in(client, user, "password", "mfa")
    return user


def post(client: Client, **fields: str) -> Any:
    return client.post(reverse("admin:persons"), {"phone": SPELLING} | fields)


def test_page_asks_for_a_phone(client: Client, operator: User) -> None:
    page = client.get(reverse("admin:persons"))

    assert page.status_code == 200
    assert 'type="tel"' in page.content.decode()


def test_export_is_a_file_of_json(client: Client, operator: User, company: Company) -> None:
    create_all_data(company)
    create_service_data()

    response = post(client, export="yes")

    exported = json.loads(response.content)
    assert response.headers["Content-Disposition"] == 'attachment; filename="person.json"'
    assert "no-store" in response.headers["Cache-Control"]
    assert (exported["phone"], len(exported["data"]["bot_contacts"])) == (PHONE, 1)
    assert AuditEvent.objects.get(action="person.exported").user == operator


def test_erasure_is_confirmed_first(client: Client, operator: User, company: Company) -> None:
    create_all_data(company)

    page = post(client, erase="yes").content.decode()

    assert PHONE in page
    assert 'name="confirmed"' in page
    assert Message.objects.filter(phone=PHONE).count() == 2


def test_confirmed_erasure_is_audited(client: Client, operator: User, company: Company) -> None:
    create_all_data(company)

    response = post(client, confirmed="yes")

    assert response.headers["Location"] == reverse("admin:persons")
    assert not Message.objects.filter(phone=PHONE).exists()
    events = AuditEvent.objects.filter(action="person.erased").order_by("id")
    assert [(event.user, event.subject) for event in events] == [(operator, "+7916*")] * 2


def test_open_message_is_named(client: Client, operator: User, company: Company) -> None:
    MessageFactory.create(company=company, phone=PHONE, state="sent")

    page = post(client, confirmed="yes").content.decode()

    assert "Повторите после" in page
    assert Message.objects.filter(phone=PHONE).exists()


def test_malformed_phone_is_refused_by_the_persons_page(client: Client, operator: User) -> None:
    page = client.post(reverse("admin:persons"), {"phone": "somebody", "export": "yes"})

    assert "Это не номер телефона" in page.content.decode()


@pytest.mark.parametrize("action", ["export", "erase", "confirmed"])
def test_second_factor_is_required_again(
    client: Client, settings: Settings, company: Company, action: str
) -> None:
    settings.OPERATOR_MFA = True
    sign_in(client, make_operator(), "password", "mfa", age=3600)
    create_all_data(company)

    response = post(client, **{action: "yes"})

    assert reverse("mfa_reauthenticate") in response.headers["Location"]
    assert Message.objects.filter(phone=PHONE).count() == 2


def test_operator_without_the_permission_is_refused(client: Client) -> None:
    user = UserFactory.create(is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_message"))
    sign_in(client, user, "password")

    assert client.get(reverse("admin:persons")).status_code == 403
    assert post(client, confirmed="yes").status_code == 403
