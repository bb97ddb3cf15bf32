"""Saving an operator's open page does not undo somebody else's change."""

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from accounts.models import User
from channels.models import ProviderAccount
from tests.factories import CompanyFactory, MemberFactory
from tests.operator_admin.model_pages.test_audited_values import filled_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def account(db: None) -> ProviderAccount:
    return ProviderAccount.objects.create(name="twilio", position=10, weight=1)


def opened(client: Client, url: str) -> dict[str, object]:
    page = client.get(url)
    return filled_in(client, url) | {"version": page.context["version"]}


def test_limit_of_an_owner_stays(client: Client, operator: User) -> None:
    company = CompanyFactory.create(brand="", codes_per_day=None)
    url = reverse("admin:accounts_company_change", args=[company.pk])
    form = opened(client, url)
    type(company).objects.filter(pk=company.pk).update(codes_per_day=5)

    response = client.post(url, form | {"brand": "New"})

    company.refresh_from_db()
    assert (company.codes_per_day, company.brand) == (5, "")
    assert response.context["errors"]
    assert str(form["version"]) in response.content.decode()  # sent again, it is refused again


def test_role_that_an_owner_lowered_stays(client: Client, operator: User) -> None:
    member = MemberFactory.create(role="developer")
    url = reverse("admin:accounts_company_change", args=[member.company_id])
    form = opened(client, url)
    type(member).objects.filter(pk=member.pk).update(role="viewer")

    client.post(url, form | {"brand": "New"})

    member.refresh_from_db()
    assert member.role == "viewer"


def test_account_that_a_colleague_paused_stays_so(
    client: Client, operator: User, account: ProviderAccount
) -> None:
    url = reverse("admin:channels_provideraccount_change", args=[account.pk])
    form = opened(client, url)
    ProviderAccount.objects.filter(pk=account.pk).update(is_enabled=False)

    client.post(url, form | {"weight": 2})

    account.refresh_from_db()
    assert not account.is_enabled


def test_change_of_hidden_fields_does_not_make_the_form_stale(
    client: Client, operator: User, account: ProviderAccount
) -> None:
    url = reverse("admin:channels_provideraccount_change", args=[account.pk])
    form = opened(client, url)
    ProviderAccount.objects.filter(pk=account.pk).update(trips=1)

    response = client.post(url, form | {"weight": 2})

    account.refresh_from_db()
    assert response.status_code == 302
    assert account.weight == 2


def test_no_list_is_a_form() -> None:
    """It would have no fingerprint, and put back what it shows of every row."""
    pages = admin.site._registry.values()
    assert [page for page in pages if page.list_editable] == []
