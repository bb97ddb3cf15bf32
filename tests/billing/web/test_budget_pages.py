"""The cabinet's budget tab: usage, and raising a budget."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.keys import api_keys
from accounts.models import Member
from billing.budgets import budgets
from billing.models import Budget
from billing.wallet import ledger
from tests.api.clients import ClientOf
from tests.factories import MemberFactory
from tests.operator_admin.operators import make_operator, sign_in
from tests.reauthentication import mark_reauthenticated

pytestmark = pytest.mark.django_db
URL = "/cabinet/settings/budgets"


@pytest.fixture
def owner(client: Client) -> Member:
    member: Member = MemberFactory.create()
    ledger.grant(company=member.company, amount=1000, reason="test")
    client.force_login(member.user)
    return member


def post(client: Client, **fields: str) -> Any:
    return client.post(URL, {"day": "", "any_country": "", "hour_RU": ""} | fields)


def own(member: Member) -> dict[str, int | None]:
    return dict(Budget.objects.filter(company=member.company).values_list("country", "own"))


def test_page_shows_budget_usage(client: Client, owner: Member, client_of: ClientOf) -> None:
    budgets.set_own(company=owner.company, tokens={"": 40, "RU": 20}, user=None)
    client_of(owner.company).post("/otp/send", {"phone": "+79161234567"})

    body = client.get(URL).content.decode()

    assert "1 из 40" in body
    assert "1 из 20" in body
    assert "Сегодня можно потерять ещё не больше 39 токенов." in body


def test_owner_raises_a_budget_after_a_proof(
    client: Client, owner: Member, client_of: ClientOf
) -> None:
    api = client_of(owner.company)
    budgets.set_own(company=owner.company, tokens={"": 0}, user=None)
    assert api.post("/otp/send", {"phone": "+79161234567"}).code == "send_limit"

    asked = post(client, day="5 000")
    assert asked.status_code == 302
    assert reverse("account_reauthenticate") in asked.url
    assert own(owner) == {"": 0}
    mark_reauthenticated(client, owner.user, "password")
    response = post(client, day="5 000", hour_RU="900", new_country="kz", new_tokens="7")

    assert (response.status_code, response.url) == (302, URL)
    assert own(owner) == {"": 5000, "RU": 900, "KZ": 7}
    api_keys.clear_cache()  # as two seconds do
    assert api.post("/otp/send", {"phone": "+79161234567"}).status == 200
    event = owner.company.audit.filter(action="budget.changed").latest("pk")
    assert event.user == owner.user
    assert "24 h: 0 → 5000" in event.subject


def test_lowering_a_budget_needs_no_proof(client: Client, owner: Member) -> None:
    assert post(client, day="10", hour_RU="5").url == URL

    assert own(owner) == {"": 10, "RU": 5}


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"day": "-1"}, "day"),
        ({"day": "x"}, "day"),
        ({"hour_RU": "1000000001"}, "hour_RU"),
        ({"new_country": "XX", "new_tokens": "1"}, "new_country"),
        ({"new_tokens": "1"}, "new_country"),
    ],
    ids=str,
)
def test_wrong_figures_are_named(
    client: Client, owner: Member, fields: dict[str, str], wrong: str
) -> None:
    response = post(client, **fields)

    assert list(response.context["form"].errors) == [wrong]
    assert own(owner) == {}


def test_developer_reads_and_changes_nothing(client: Client, owner: Member) -> None:
    developer = MemberFactory.create(company=owner.company, role=Member.Role.DEVELOPER)
    client.force_login(developer.user)

    assert "disabled" in client.get(URL).content.decode()
    assert post(client, day="1").status_code == 403


def test_operator_raises_a_budget_in_the_admin(client: Client, owner: Member) -> None:
    operator = make_operator()
    sign_in(client, operator, "password", "mfa")
    budgets.set_own(company=owner.company, tokens={"": 5}, user=None)
    budget = Budget.objects.get()

    response = client.post(reverse("admin:billing_budget_change", args=[budget.pk]), {"own": "77"})

    assert response.status_code == 302
    assert own(owner) == {"": 77}
    owner.company.refresh_from_db()
    assert owner.company.budgets == {"": [77, None]}
    assert owner.company.audit.filter(action="budget.changed", user=operator).exists()
