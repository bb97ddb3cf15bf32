"""The cabinet's pages that schedule and cancel the deletion of a company."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Company, Member
from tests.factories import MemberFactory, OrderFactory, WalletFactory
from tests.reauthentication import mark_reauthenticated

pytestmark = pytest.mark.django_db
PAGE = "company-delete"


@pytest.fixture
def owner(client: Client) -> Member:
    member = MemberFactory.create(company__name="Лавка", user__language="en")
    client.force_login(member.user)
    client.cookies["kvitok_language"] = "en"
    return member


def test_nothing_happens_without_reauthentication(client: Client, owner: Member) -> None:
    asked = client.post(reverse(PAGE), {"name": "Лавка"})

    assert asked.status_code == 302
    assert asked.headers["Location"].startswith("/account/reauthenticate")
    assert Company.objects.get().closes_at is None


def test_name_has_to_be_typed(client: Client, owner: Member) -> None:
    mark_reauthenticated(client, owner.user)

    wrong = client.post(reverse(PAGE), {"name": "Лавка 2"})
    empty = client.post(reverse(PAGE), {"name": ""})

    assert wrong.context["form"].errors["name"]
    assert empty.context["form"].errors["name"]
    assert Company.objects.get().closes_at is None


@pytest.mark.parametrize("typed", ["Лавка", "  лавка ", "ЛАВКА"])
def test_company_deletion_is_scheduled_and_cancelled(
    client: Client, owner: Member, typed: str
) -> None:
    mark_reauthenticated(client, owner.user)

    client.post(reverse(PAGE), {"name": typed})
    assert Company.objects.get().closes_at is not None
    banner = client.get(reverse("overview")).content.decode()
    assert 'id="closing-notice"' in banner
    assert reverse("company-keep") in banner

    client.post(reverse("company-keep"))
    assert Company.objects.get().closes_at is None
    assert 'id="closing-notice"' not in client.get(reverse("overview")).content.decode()


def test_page_names_the_balance_and_open_invoices(client: Client, owner: Member) -> None:
    WalletFactory.create(company=owner.company, available=1200, held=34)
    OrderFactory.create(company=owner.company)

    page = client.get(reverse(PAGE))

    assert page.context["tokens"] == 1234
    assert page.context["open_invoices"] == owner.company.orders.open().invoices().count()


@pytest.mark.parametrize("role", ["developer", "accountant", "viewer"])
def test_only_owners_request_or_cancel_the_deletion(client: Client, role: str) -> None:
    member = MemberFactory.create(role=role, company__closes_at=timezone.now())
    client.force_login(member.user)
    mark_reauthenticated(client, member.user)

    assert client.get(reverse(PAGE)).status_code == 403
    assert client.post(reverse(PAGE), {"name": member.company.name}).status_code == 403
    assert client.post(reverse("company-keep")).status_code == 403
    banner = client.get(reverse("overview")).content.decode()
    assert 'id="closing-notice"' in banner
    assert reverse("company-keep") not in banner


def test_owner_of_another_company_closes_only_their_own(client: Client, owner: Member) -> None:
    other = MemberFactory.create(company__closes_at=timezone.now()).company
    mark_reauthenticated(client, owner.user)

    client.post(reverse("company-keep"))

    other.refresh_from_db()
    assert other.closes_at is not None
