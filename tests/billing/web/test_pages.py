"""The cabinet's pages of billing: balance, top-ups, invoices and billing details."""

from decimal import Decimal
from typing import Any

import pytest
import responses
from django.conf import settings
from django.test import Client
from django.urls import reverse
from requests import PreparedRequest

from accounts.models import Member
from billing.models import BillingProfile, Order, Payment
from billing.wallet import ledger
from tests.billing.top_ups import HOOK, fill_billing_details, place_order
from tests.factories import (
    MemberFactory,
    OrderFactory,
    PackageFactory,
    SellerFactory,
    TariffFactory,
    WalletFactory,
)
from tests.reauthentication import mark_reauthenticated

pytestmark = pytest.mark.django_db


@pytest.fixture
def member(client: Client) -> Member:
    """An accountant of an installation that sells everything."""
    member: Member = MemberFactory.create(role=Member.Role.ACCOUNTANT)
    client.force_login(member.user)
    mark_reauthenticated(client, member.user)
    SellerFactory.create()
    PackageFactory.create()
    TariffFactory.create(tokens_from=100)
    fill_billing_details(member.company)
    return member


def body(response: Any) -> str:
    return " ".join(response.content.decode().replace("\u00a0", " ").split())


def test_balance_shows_how_many_messages_it_pays_for(client: Client, member: Member) -> None:
    WalletFactory.create(company=member.company, available=1000, held=17)

    response = client.get(reverse("balance"))

    assert response.context["sends"][:3] == [("WhatsApp", 1000), ("Telegram", 1000), ("SMS", 62)]
    assert "17 удержано до доставки" in body(response)
    assert not response.context["is_low"]


def buy(client: Client, **fields: str) -> Any:
    return client.post(reverse("balance"), {"gateway": "invoice"} | fields)


def test_package_is_bought_by_invoice(client: Client, member: Member) -> None:
    response = buy(client, package="start")

    order = Order.objects.get()
    page = client.get(response.headers["Location"])
    assert (order.tokens, order.amount, order.created_by) == (1000, Decimal(1900), member.user)
    unsigned = order.payment_url.rsplit(":", 2)[0]  # the signature differs by the second
    assert f"{unsigned}:" in page.content.decode()
    assert f"Оплата по счёту № {order.number}" in body(page)


@pytest.mark.parametrize("text", ["1500", "1 500", "1\u00a0500", " 1500 "])
def test_number_of_tokens_may_be_written_with_spaces(
    client: Client, member: Member, text: str
) -> None:
    buy(client, package="", tokens=text)

    assert [(order.tokens, order.amount) for order in Order.objects.all()] == [
        (1500, Decimal(3000))
    ]


@pytest.mark.parametrize(
    ("fields", "at_fault"),
    [
        ({"package": "", "tokens": "99"}, "tokens"),
        ({"package": "", "tokens": ""}, "tokens"),
        ({"package": "", "tokens": "много"}, "tokens"),
        ({"package": "", "tokens": "-5"}, "tokens"),
        ({"package": "none"}, "package"),
        ({"package": "start", "gateway": "bitcoin"}, "gateway"),
    ],
)
def test_impossible_order_is_explained(
    client: Client, member: Member, fields: dict[str, str], at_fault: str
) -> None:
    response = buy(client, **fields)

    assert list(response.context["form"].errors) == [at_fault]
    assert Order.objects.count() == 0


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("150", "= 300,00 ₽"),
        ("1 000", "= 2 000,00 ₽"),
        ("5", "от 100"),
        ("x", "от 100"),
        ("", "от 100"),
    ],
)
def test_quote_follows_the_typed_number(
    client: Client, member: Member, typed: str, shown: str
) -> None:
    assert body(client.get(reverse("balance-quote"), {"tokens": typed})) == shown


def test_viewer_sees_and_changes_nothing(client: Client, member: Member) -> None:
    client.force_login(MemberFactory.create(company=member.company, role="viewer").user)

    response = client.get(reverse("balance"))

    assert "Пополнить баланс может владелец или бухгалтер" in body(response)
    assert buy(client, package="start").status_code == 403


def test_low_balance_threshold_is_stored_and_a_negative_one_refused(
    client: Client, member: Member
) -> None:
    client.post(reverse("balance-alert"), {"low_balance": "2 500"})
    client.post(reverse("balance-alert"), {"low_balance": "-1"})

    assert BillingProfile.for_company(member.company).low_balance == 2500


BILLING_DETAILS = {
    "country": "RU",
    "legal_name": "ООО «Ромашка»",
    "inn": "7707 083 893",
    "kpp": "770701001",
    "address": "Москва",
    "email": "docs@example.com",
}


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("inn", "7707083894"),
        ("kpp", "77"),
        ("email", "not an address"),
        ("legal_name", "北京科技有限公司"),  # of which an invoice would show nothing
        ("address", "ул. 😀, 5"),
    ],
)
def test_wrong_billing_details_are_refused(
    client: Client, member: Member, field: str, text: str
) -> None:
    response = client.post(reverse("balance-profile"), BILLING_DETAILS | {field: text})

    assert list(response.context["form"].errors) == [field]
    assert BillingProfile.for_company(member.company).inn == "7800000002"


def test_cancel_asks_and_cancels(client: Client, member: Member) -> None:
    order = place_order(member.company)
    address = reverse("balance-order-cancel", args=[order.public_id])

    asked = client.get(address)
    cancelled = client.post(address, follow=True)

    assert asked.status_code == 200
    assert "Пополнение отменено." in body(cancelled)
    assert "завершено" in body(client.get(address))


def test_only_invoices_have_a_pdf(client: Client, member: Member) -> None:
    invoice = place_order(member.company, "invoice")
    other = place_order(member.company)

    results = [
        client.get(reverse("balance-invoice", args=[order.public_id])) for order in (invoice, other)
    ]

    assert [response.status_code for response in results] == [200, 404]
    assert results[0].headers["Content-Type"] == "application/pdf"


@pytest.fixture
def wire() -> Any:
    """Passes the sandbox's HTTP calls of our own webhook to Django's test client."""

    def deliver(request: PreparedRequest) -> tuple[int, dict[str, str], str]:
        headers = {name: str(text) for name, text in request.headers.items()}
        response = Client().generic(
            "POST", HOOK, request.body or b"", "application/json", headers=headers
        )
        return response.status_code, {}, ""

    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        mock.add_callback(responses.POST, f"{settings.PUBLIC_URL}{HOOK}", deliver)
        yield mock


# What is chosen → how the order ends, the balance, and what the operator is shown.
OUTCOMES: dict[str, tuple[str, int, list[str]]] = {
    "pay": ("paid", 1000, [""]),
    "decline": ("canceled", 0, []),
    "told_twice": ("paid", 1000, [""]),
    "pay_twice": ("paid", 1000, ["", "second"]),
    "pay_late": ("paid", 1000, ["late"]),
    "wrong_amount": ("pending", 0, ["wrong_amount"]),
}


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_sandbox_runs_the_chosen_scenario(client: Client, member: Member, outcome: str) -> None:
    order = place_order(member.company)

    response = client.post(order.payment_url, {"outcome": outcome})

    order.refresh_from_db()
    problems = list(Payment.objects.order_by("pk").values_list("problem", flat=True))
    available, _held = ledger.balance(member.company_id)
    assert response.status_code == 302
    assert (order.state, available, problems) == OUTCOMES[outcome]


def test_sandbox_reports_an_undelivered_webhook(client: Client, member: Member) -> None:
    order = place_order(member.company)

    with responses.RequestsMock() as mock:
        mock.add(responses.POST, f"{settings.PUBLIC_URL}{HOOK}", status=502)
        response = client.post(order.payment_url, {"outcome": "pay"}, follow=True)

    assert "Уведомление не дошло" in body(response)


def test_disabled_sandbox_answers_404(client: Client, member: Member, settings: Any) -> None:
    order = OrderFactory.create(company=member.company)
    address = reverse("sandbox-gateway", args=[order.payment_id])
    unknown = reverse("sandbox-gateway", args=["sandbox-x"])

    results = [client.post(address, {"outcome": "x"}), client.get(unknown)]
    settings.PAYMENT_GATEWAYS = ["invoice"]
    results.append(client.get(address))

    assert [response.status_code for response in results] == [404, 404, 404]
