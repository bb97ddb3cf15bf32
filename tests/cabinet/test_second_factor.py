"""A company that requires a second factor of its members."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Member
from tests.accounts.security.people import add_app
from tests.cabinet.settings_page import form_of, send
from tests.factories import ApiKeyFactory, MemberFactory
from tests.reauthentication import mark_reauthenticated

FIELDS = {"requires_second_factor": "on"}


@pytest.fixture
def strict(owner: Member) -> Member:
    owner.company.requires_second_factor = True
    owner.company.save()
    return owner


def test_owner_without_a_factor_cannot_require_one(client: Client, owner: Member) -> None:
    mark_reauthenticated(client, owner.user)

    response = send(client, "security", FIELDS)

    assert list(form_of(response, "security").errors) == ["requires_second_factor"]


def test_owner_with_a_factor_requires_one_after_reauthentication(
    client: Client, owner: Member
) -> None:
    add_app(owner.user)

    asked = send(client, "security", FIELDS)
    assert "reauthenticate" in asked.headers["Location"]
    owner.company.refresh_from_db()
    assert not owner.company.requires_second_factor
    mark_reauthenticated(client, owner.user, "mfa")
    send(client, "security", FIELDS)

    owner.company.refresh_from_db()
    assert owner.company.requires_second_factor


@pytest.mark.parametrize("role", Member.Role.values)
def test_member_without_a_factor_sees_nothing(client: Client, strict: Member, role: str) -> None:
    client.force_login(MemberFactory.create(company=strict.company, role=role).user)

    for name in ("overview", "message-list", "key-list", "settings"):
        for call in (client.get, client.post):
            assert call(reverse(name)).status_code in {302, 403, 405}
    response = client.get(reverse("overview"))
    assert response.headers["Location"] == reverse("second-factor-required")
    assert client.get(reverse("mfa_index")).status_code == 200
    page = client.get(reverse("second-factor-required")).content.decode()
    assert strict.company.name in page


def test_member_with_a_factor_is_not_stopped(client: Client, strict: Member) -> None:
    add_app(strict.user)

    assert client.get(reverse("overview")).status_code == 200
    assert client.get(reverse("second-factor-required")).headers["Location"] == reverse("overview")


def test_keys_are_not_affected(client: Client, strict: Member) -> None:
    key = ApiKeyFactory.create(company=strict.company)

    response = client.get("/api/v1/balance", headers={"Authorization": f"Bearer {key.plaintext}"})

    assert response.status_code == 200
