"""The operator gives tokens and takes them back, once for each confirmation."""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import Company, User
from billing.models import Transfer
from billing.wallet import ledger
from tests.api.races import at_once
from tests.factories import CompanyFactory, MemberFactory
from tests.operator_admin.operators import make_operator, sign_in

pytestmark = pytest.mark.django_db
ADDRESS = "/admin/billing/wallet/adjust/"


@pytest.fixture
def payer(operator: User) -> Company:
    company: Company = CompanyFactory.create(name="Ромашка")
    return company


def search(client: Client, typed: str | int) -> list[Company]:
    companies: list[Company] = client.get(ADDRESS, {"q": typed}).context["companies"]
    return companies


def adjust(client: Client, company: Company, **fields: Any) -> Any:
    sent = {"company": company.pk, "reason": "подарок", "once": uuid4(), "confirmed": "yes"}
    return client.post(ADDRESS, sent | fields)


def messages_of(response: Any) -> list[str]:
    return [str(message) for message in get_messages(response.wsgi_request)]


def test_company_is_found_by_name_number_and_member(client: Client, payer: Company) -> None:
    MemberFactory.create(company=payer, user__email="anna@romashka.test")
    CompanyFactory.create(name="Василёк")

    responses = [search(client, typed) for typed in ("маШ", payer.pk, "anna@roma")]

    assert responses == [[payer]] * 3
    assert search(client, "нет такой") == []


def test_found_companies_are_shown_with_their_balances(client: Client, payer: Company) -> None:
    ledger.grant(company=payer, amount=1_234_567, reason="test")

    page = client.get(ADDRESS, {"q": "ромашка"}).content.decode()

    assert "1\u00a0234\u00a0567" in page
    assert f"?company={payer.pk}" in page


@pytest.mark.parametrize("number", ["", "0", "x", "9" * 30, "-1"])
def test_unknown_company_redirects_to_the_search(
    client: Client, operator: User, number: str
) -> None:
    response = client.get(ADDRESS, {"company": number})

    assert response.templates[0].name == "admin/billing/wallet/adjust_search.html"


def test_nothing_moves_before_it_is_confirmed(client: Client, payer: Company) -> None:
    ledger.grant(company=payer, amount=100, reason="test")

    typed = {"company": payer.pk, "tokens": "1 900", "reason": "подарок", "once": uuid4()}
    asked = client.post(ADDRESS, typed)
    back = adjust(client, payer, tokens="50", edit="yes")

    assert asked.context["after"] == 2000
    assert "Начислить токены" in asked.content.decode()
    assert back.context["form"]["tokens"].value() == "50"
    assert ledger.balance(payer.pk) == (100, 0)


def test_tokens_are_granted_and_withdrawn_for_a_reason(
    client: Client, payer: Company, operator: User
) -> None:
    given = adjust(client, payer, tokens="1 900")
    taken = adjust(client, payer, tokens="\u2212900", reason="ошибка")

    rows = Transfer.objects.order_by("pk").values_list("kind", "amount", "reason", "created_by")
    assert given["Location"] == reverse("admin:billing_wallet_change", args=[payer.pk])
    assert messages_of(given) == [
        "Начислено 1\u00a0900 токенов: Ромашка. Доступно сейчас: 1\u00a0900."
    ]
    assert messages_of(taken)[-1] == "Изъято 900 токенов: Ромашка. Доступно сейчас: 1\u00a0000."
    assert list(rows) == [
        ("grant", 1900, "подарок", operator.pk),
        ("withdraw", 900, "ошибка", operator.pk),
    ]
    assert payer.audit.filter(action="wallet.adjusted", user=operator).count() == 2


@pytest.mark.parametrize(("tokens", "balance"), [(50, 150), (-20, 80)])
def test_form_pressed_twice_moves_tokens_once(
    client: Client, payer: Company, tokens: int, balance: int
) -> None:
    ledger.grant(company=payer, amount=100, reason="test")
    once = client.get(ADDRESS, {"company": payer.pk}).context["form"]["once"].value()

    responses = [adjust(client, payer, tokens=tokens, once=once) for _ in range(2)]

    assert messages_of(responses[1])[-1] == "Это уже сделано: второй раз ничего не переведено."
    assert ledger.balance(payer.pk) == (balance, 0)
    assert payer.audit.filter(action="wallet.adjusted").count() == 1


def test_withdrawing_everything_twice_moves_tokens_once(client: Client, payer: Company) -> None:
    ledger.grant(company=payer, amount=100, reason="test")
    once = uuid4()

    responses = [adjust(client, payer, tokens=-100, once=once) for _ in range(2)]

    assert [response.status_code for response in responses] == [302, 302]
    assert ledger.balance(payer.pk) == (0, 0)


@pytest.mark.django_db(transaction=True)
def test_double_click_moves_tokens_once(client: Client, payer: Company, operator: User) -> None:
    once = uuid4()

    def press() -> Any:
        twin = Client()
        twin.cookies = client.cookies
        return adjust(twin, payer, tokens=50, once=once)

    responses = at_once([press] * 4)

    assert [response.status_code for response in responses] == [302] * 4
    assert ledger.balance(payer.pk) == (50, 0)
    assert payer.audit.filter(action="wallet.adjusted").count() == 1


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"tokens": -51}, "tokens"),
        ({"tokens": 0}, "tokens"),
        ({"tokens": 10**30}, "tokens"),
        ({"tokens": "1,90"}, "tokens"),
        ({"reason": ""}, "reason"),
    ],
)
def test_adjustment_that_cannot_be_is_refused(
    client: Client, payer: Company, changes: dict[str, Any], field: str
) -> None:
    ledger.grant(company=payer, amount=50, reason="test")

    response = adjust(client, payer, **({"tokens": 1} | changes))

    assert list(response.context["form"].errors) == [field]
    assert ledger.balance(payer.pk) == (50, 0)
    assert payer.audit.count() == 0


def test_tokens_are_moved_only_after_a_recent_sign_in(
    client: Client, payer: Company, settings: Settings
) -> None:
    settings.OPERATOR_MFA = True
    sign_in(client, make_operator(), "password", "mfa", age=3600)

    adjust(client, payer, tokens=5)

    assert ledger.balance(payer.pk) == (0, 0)


@pytest.mark.parametrize("typed", ["\0", "маш\0", "\0маш"])
def test_nul_in_a_search_finds_as_without_it(client: Client, payer: Company, typed: str) -> None:
    assert search(client, typed) == ([payer] if typed != "\0" else [])


@pytest.mark.parametrize("once", ["\0", "", "x" * 300])
def test_invalid_key_of_a_form_moves_no_tokens(client: Client, payer: Company, once: str) -> None:
    response = adjust(client, payer, tokens="5", once=once)

    assert response.status_code == 200
    assert "once" in response.context["form"].errors
    assert not Transfer.objects.filter(company=payer).exists()
