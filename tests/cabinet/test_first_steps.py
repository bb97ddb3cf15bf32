"""The first steps that each role is shown."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Company, Member
from billing.models import Order
from tests.billing.top_ups import fill_billing_details
from tests.cabinet.routes import CABINET, Kind, address
from tests.factories import ApiKeyFactory, MemberFactory, OrderFactory


@pytest.fixture
def accountant(client: Client, company: Company) -> Member:
    member: Member = MemberFactory.create(company=company, role=Member.Role.ACCOUNTANT)
    client.force_login(member.user)
    return member


def pages(client: Client, company: Company) -> dict[str, str]:
    """Returns the pages of the cabinet that the signed-in member may open, before any send."""
    names = [name for name, route in CABINET.items() if route.kind is Kind.PAGE and not route.of]
    responses = {name: client.get(address(name, company)) for name in names}
    return {
        name: response.content.decode()
        for name, response in responses.items()
        if response.status_code == 200
    }


def test_accountant_is_shown_no_terminal_commands(client: Client, accountant: Member) -> None:
    ApiKeyFactory.create(company=accountant.company)

    result = pages(client, accountant.company)

    assert {"overview", "message-list", "link-list", "balance"} <= result.keys()
    assert [name for name, page in result.items() if "curl" in page] == []


def test_accountants_steps_are_about_money(client: Client, accountant: Member) -> None:
    company = accountant.company
    seen = []
    for act in (
        lambda: None,
        lambda: fill_billing_details(company),
        lambda: OrderFactory.create(company=company),
        lambda: Order.objects.update(state="paid", paid_at=timezone.now()),
    ):
        act()
        seen.append(client.get(reverse("overview")).context["money_steps"])

    assert [list(steps.values()) for steps in seen] == [
        [False, False, False],
        [True, False, False],
        [True, True, False],
        [],
    ]


def test_only_owner_is_not_offered_to_leave(client: Client, owner: Member) -> None:
    leave = reverse("member-remove", args=[owner.pk])
    alone = [client.get(path).content.decode() for path in (reverse("member-list"), leave)]
    MemberFactory.create(company=owner.company)

    in_company = [client.get(path).content.decode() for path in (reverse("member-list"), leave)]

    assert leave not in alone[0]
    assert "btn-danger" not in alone[1]
    assert all("Единственный владелец" in page for page in alone)
    assert leave in in_company[0]
    assert "btn-danger" in in_company[1]
