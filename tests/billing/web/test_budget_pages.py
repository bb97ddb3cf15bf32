"""The page of budgets, in the cabinet and in the admin."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.keys import api_keys
from accounts.models import ApiKey, Member
from billing.budgets import budgets
from billing.models import Budget, Wallet
from billing.wallet import ledger
from billing.web.budget_views import BudgetForm
from tests.api.clients import ClientOf
from tests.factories import ApiKeyFactory, MemberFactory
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


def fixed_budgets(member: Member) -> dict[str, int | None]:
    return dict(
        Budget.objects.filter(company=member.company).values_list("country", "fixed_tokens")
    )


def test_page_shows_budget_usage(client: Client, owner: Member, client_of: ClientOf) -> None:
    budgets.set_fixed(company=owner.company, tokens={"": 40, "RU": 20}, user=None)
    client_of(owner.company).post("/otp/send", {"phone": "+79161234567"})

    body = client.get(URL).content.decode()

    assert "1 из 40" in body
    assert "1 из 20" in body
    assert "Даже с украденным ключом сегодня не потратят больше 39 токенов." in body


def test_owner_raises_a_budget_after_a_proof(
    client: Client, owner: Member, client_of: ClientOf
) -> None:
    api = client_of(owner.company)
    budgets.set_fixed(company=owner.company, tokens={"": 0}, user=None)
    assert api.post("/otp/send", {"phone": "+79161234567"}).code == "send_limit"

    asked = post(client, day="5 000")
    assert asked.status_code == 302
    assert reverse("account_reauthenticate") in asked.url
    assert fixed_budgets(owner) == {"": 0}
    mark_reauthenticated(client, owner.user, "password")
    response = post(client, day="5 000", hour_RU="900", new_country="KZ", new_tokens="7")

    assert (response.status_code, response.url) == (302, URL)
    assert fixed_budgets(owner) == {"": 5000, "RU": 900, "KZ": 7}
    api_keys.clear_cache()  # as two seconds do
    assert api.post("/otp/send", {"phone": "+79161234567"}).status == 200
    event = owner.company.audit.filter(action="budget.changed").latest("pk")
    assert event.user == owner.user
    assert "day: 0 → 5000" in event.subject


def test_form_is_not_stale_because_another_country_is_in_use(
    client: Client, owner: Member, client_of: ClientOf
) -> None:
    client_of(owner.company).post("/otp/send", {"phone": "+77011234567"})
    opened = client.get(URL).context["form"]
    Wallet.objects.update(hour_tokens={"DE": 1})  # KZ no longer is

    response = post(client, version=opened["version"].value(), hour_KZ="7")

    assert (response.status_code, fixed_budgets(owner)) == (302, {"KZ": 7})


def test_two_owners_who_save_at_once_keep_each_other_s_budgets(owner: Member) -> None:
    forms = [
        BudgetForm(
            {"day": "", "any_country": "", "hour_RU": "", **changed},
            uses=budgets.usage(owner.company_id, ["RU"]),
            fixed_any=None,
            typed={},
        )
        for changed in ({"day": "10"}, {"hour_RU": "5"})
    ]

    for form in forms:
        assert form.is_valid()
        budgets.set_fixed(company=owner.company, tokens=form.tokens(), user=owner.user)

    assert fixed_budgets(owner) == {"": 10, "RU": 5}


def test_lowering_a_budget_needs_no_proof(client: Client, owner: Member) -> None:
    assert post(client, day="10", hour_RU="5").url == URL

    assert fixed_budgets(owner) == {"": 10, "RU": 5}


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
    assert fixed_budgets(owner) == {}


def test_developer_reads_and_changes_nothing(client: Client, owner: Member) -> None:
    developer = MemberFactory.create(company=owner.company, role=Member.Role.DEVELOPER)
    client.force_login(developer.user)

    assert "disabled" in client.get(URL).content.decode()
    assert post(client, day="1").status_code == 403


def test_operator_raises_a_budget_in_the_admin(client: Client, owner: Member) -> None:
    operator = make_operator()
    sign_in(client, operator, "password", "mfa")
    budgets.set_fixed(company=owner.company, tokens={"": 5}, user=None)
    budget = Budget.objects.get()

    response = client.post(
        reverse("admin:billing_budget_change", args=[budget.pk]), {"fixed_tokens": "77"}
    )

    assert response.status_code == 302
    assert fixed_budgets(owner) == {"": 77}
    owner.company.refresh_from_db()
    assert owner.company.budgets == {"": [77, None]}
    assert owner.company.audit.filter(action="budget.changed", user=operator).exists()


@pytest.mark.parametrize(
    ("country", "tokens", "stored"),
    [("", "", {}), ("kz", "5", {"KZ": 5}), ("*", "5", {"*": 5}), ("xx", "5", {})],
)
def test_operator_adds_a_budget_that_holds(
    client: Client, owner: Member, country: str, tokens: str, stored: dict[str, int]
) -> None:
    sign_in(client, make_operator(), "password", "mfa")
    form = {"company": owner.company.pk, "country": country, "fixed_tokens": tokens}

    response = client.post(reverse("admin:billing_budget_add"), form)

    assert response.status_code == (302 if stored else 200)
    assert fixed_budgets(owner) == stored


def key_of(owner: Member, limit: int | None = None) -> ApiKey:
    key: ApiKey = ApiKeyFactory.create(company=owner.company, day_limit=limit)
    return key


def test_page_shows_what_a_key_has_used_and_left(client: Client, owner: Member) -> None:
    key = key_of(owner, 20)
    other = key_of(owner)
    key_of(MemberFactory.create(), 77)
    ApiKeyFactory.create(company=owner.company, revoked_at=timezone.now())
    tokens = {str(key.pk): 5, str(other.pk): 3}
    Wallet.objects.update(day=timezone.localdate(), key_tokens=tokens)

    page = client.get(URL)

    assert [field.name for field in page.context["form"].key_limits] == [
        f"key_{key.pk}",
        f"key_{other.pk}",
    ]
    assert "Сегодня израсходовано 5, осталось 15; начнётся заново в 00:00." in page.content.decode()
    assert "Сегодня израсходовано 3." in page.content.decode()


@pytest.mark.parametrize("raised", ["30", ""])
def test_raising_a_key_s_limit_needs_a_proof_and_lowering_none(
    client: Client, owner: Member, raised: str
) -> None:
    name = f"key_{key_of(owner, 20).pk}"

    assert reverse("account_reauthenticate") in post(client, **{name: raised}).url
    assert ApiKey.objects.get().day_limit == 20
    assert post(client, **{name: "0"}).url == URL
    assert ApiKey.objects.get().day_limit == 0


def test_first_limit_of_a_key_needs_no_proof(client: Client, owner: Member) -> None:
    assert post(client, **{f"key_{key_of(owner).pk}": "1 000"}).url == URL

    assert ApiKey.objects.get().day_limit == 1000


def test_limit_of_another_company_s_key_stays(client: Client, owner: Member) -> None:
    stranger = key_of(MemberFactory.create(), 5)

    post(client, **{f"key_{stranger.pk}": "0"})

    stranger.refresh_from_db()
    assert stranger.day_limit == 5
