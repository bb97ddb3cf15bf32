"""Stripe: what is sent, amounts without cents, signatures, events that mean nothing, disputes."""

import json
from decimal import Decimal
from urllib.parse import parse_qs

import pytest
import responses

from accounts.models import Company
from billing.gateways import stripe
from billing.models import Order, Payment
from billing.wallet import ledger
from catalogue.errors import DomainError
from tests.billing.gateways.vendors import StripeVendor, post

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wire")]


@pytest.fixture
def vendor() -> StripeVendor:
    stripe_vendor = StripeVendor()
    stripe_vendor.opens("cs_test_1")
    return stripe_vendor


def test_session_names_order_and_price(vendor: StripeVendor, payer: Company) -> None:
    order = vendor.place(payer)

    request = responses.calls[0].request
    body = request.body.decode() if isinstance(request.body, bytes) else str(request.body)
    fields = {name: value[0] for name, value in parse_qs(body).items()}
    assert fields["mode"] == "payment"
    assert fields["client_reference_id"] == order.pk.hex
    assert fields["line_items[0][price_data][unit_amount]"] == "190000"
    assert fields["line_items[0][price_data][currency]"] == "eur"
    assert fields["success_url"].endswith(f"/cabinet/balance/top-ups/{order.public_id}")
    assert request.headers["Idempotency-Key"] == f"kvitok-{order.pk.hex}"
    assert request.headers["Authorization"] == "Bearer sk_test_1"


@pytest.mark.parametrize(
    ("amount", "currency", "minor"),
    [
        ("19.00", "EUR", 1900),
        ("19.01", "USD", 1901),
        ("1900.00", "JPY", 1900),
        ("1.50", "KWD", 1500),
    ],
)
def test_amount_is_in_the_minor_units_of_its_currency(
    amount: str, currency: str, minor: int
) -> None:
    assert stripe.to_minor(Decimal(amount), currency) == minor
    assert stripe.from_minor(minor, currency) == Decimal(amount)


def test_fraction_of_a_yen_is_refused() -> None:
    with pytest.raises(ValueError, match="JPY"):
        stripe.to_minor(Decimal("0.50"), "JPY")


@pytest.mark.parametrize(
    "signature",
    [
        "",
        "t=,v1=",
        "t=now,v1=00",
        "v1=00",
        "t=1700000000",
        "t=1700000000,v1=00",
        "t=٤,v1=00",
        "t=99999999999999999999,v1=00",
        f"t={'9' * 5000},v1=00",
        "t=-1,v1=00",
    ],
)
def test_bad_signature_is_refused(vendor: StripeVendor, payer: Company, signature: str) -> None:
    order = vendor.place(payer)
    session = vendor.session(order, "paid")
    header = signature or "x"

    status = vendor.post("checkout.session.completed", session, signature=header)

    assert status == 403
    assert not Payment.objects.exists()


@pytest.mark.parametrize(("age", "status"), [(299, 200), (302, 403), (-302, 403)])
def test_old_signature_is_a_replay(
    vendor: StripeVendor, payer: Company, age: float, status: int
) -> None:
    session = vendor.session(vendor.place(payer), "paid")

    assert vendor.post("checkout.session.completed", session, age=age) == status


@pytest.mark.parametrize("kind", ["customer.created", "invoice.paid", "charge.updated"])
def test_other_events_are_answered_and_ignored(vendor: StripeVendor, kind: str) -> None:
    assert vendor.post(kind, {"id": "x", "status": "failed"}) == 200
    assert not Payment.objects.exists()


@pytest.mark.parametrize("what", [{}, {"id": 1}, {"payment_status": "paid"}])
def test_event_without_what_it_needs_is_refused(
    vendor: StripeVendor, what: dict[str, object]
) -> None:
    assert vendor.post("checkout.session.completed", what) == 403


def test_session_without_amount_is_ignored(vendor: StripeVendor, payer: Company) -> None:
    """One in mode `setup`, of the same account: a refusal would be repeated for days."""
    fields = {"mode": "setup", "amount_total": None, "currency": None, "client_reference_id": None}
    session = vendor.session(vendor.place(payer), "canceled", payment_id="cs_2") | fields

    assert vendor.post("checkout.session.expired", session) == 200


def test_session_without_a_page_opens_no_payment(payer: Company) -> None:
    vendor = StripeVendor()
    responses.add(
        "POST", vendor.url, json={"id": "cs_1", "object": "checkout.session", "url": None}
    )

    with pytest.raises(DomainError):
        vendor.place(payer)

    assert Order.objects.get().payment_url == ""


@pytest.mark.parametrize("kind", ["payment_intent.succeeded", "refund.updated"])
def test_event_about_no_object_is_refused(vendor: StripeVendor, kind: str) -> None:
    event = {"type": kind, "data": {"object": ["status"]}}

    assert vendor.post_event(event) == 403


def test_body_that_is_not_json_is_refused() -> None:
    assert post("stripe", b"nonsense") == 403
    assert post("stripe", json.dumps([]).encode()) == 403


def test_payment_by_bank_credits_when_it_is_confirmed(vendor: StripeVendor, payer: Company) -> None:
    order = vendor.place(payer)
    waiting = vendor.session(order, "open")
    vendor.post("checkout.session.completed", waiting)
    before = ledger.balance(payer.pk)

    vendor.post("checkout.session.async_payment_succeeded", vendor.session(order, "paid"))

    assert (before, ledger.balance(payer.pk)) == ((0, 0), (1000, 0))


def test_refund_that_fails_later_gives_the_tokens_back(
    vendor: StripeVendor, payer: Company
) -> None:
    order = vendor.place(payer)
    vendor.notify(order)
    vendor.refund(order, "re_1", "1900.00")
    failed = {
        "id": "re_1",
        "amount": 190_000,
        "currency": "eur",
        "payment_intent": f"pi_{order.pk.hex}",
        "status": "failed",
    }

    statuses = [vendor.post("refund.failed", failed) for _time in range(2)]

    assert (statuses, ledger.balance(payer.pk)) == ([200, 200], (1000, 0))


def test_dispute_takes_the_tokens_and_gives_them_back_when_it_is_won(
    vendor: StripeVendor, payer: Company
) -> None:
    order = vendor.place(payer)
    vendor.notify(order)

    left = []
    for is_won in (False, False, True, True):
        vendor.dispute(order, is_won=is_won)
        left.append(ledger.balance(payer.pk)[0])

    assert left == [0, 0, 1000, 1000]


@pytest.mark.parametrize("currency", ["JPY", "ISK", "UGX"])
def test_currency_without_cents_is_sold_in_whole_amounts(payer: Company, currency: str) -> None:
    vendor = StripeVendor()
    vendor.currency = currency
    vendor.opens("cs_1")

    with pytest.raises(DomainError):
        vendor.place(payer, amount="100.50")
    order = vendor.place(payer, amount="100.00")

    assert order.state == "pending"
    minor = 100 if currency == "JPY" else 10000
    assert f"unit_amount%5D={minor}&" in str(responses.calls[-1].request.body)
