"""Signed webhooks that must not credit: money that did not move, and bodies that break parsers."""

import time
from collections.abc import Callable

import pytest

from accounts.models import Company
from billing.gateways.stripe import Stripe
from billing.models import Payment, Refund
from tests.billing.gateways.test_contract import balance
from tests.billing.gateways.vendors import StripeVendor, TBankVendor, Vendor, post
from tests.billing.top_ups import gateway, post_webhook

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wire")]
REFUSED = {403, 503}  # 503: not believed, since the provider's API says so
NO_MONEY = ["-950.00", "0.00", "99999999999999.00"]
DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize("amount", NO_MONEY)
def test_zero_refund_keeps_later_ones_visible(vendor: Vendor, payer: Company, amount: str) -> None:
    order = vendor.place(payer)
    vendor.notify(order)

    status = vendor.refund(order, "r1", amount)
    stored = Refund.objects.count()
    vendor.refund(order, "r2", "950.00")

    if isinstance(vendor, TBankVendor):  # a line of a statement: its kind says where money went
        assert status == 200
    else:
        assert (status in REFUSED, stored, balance(payer)) == (True, 0, 500)


@pytest.mark.parametrize("amount", NO_MONEY)
def test_zero_payment_keeps_later_ones_visible(vendor: Vendor, payer: Company, amount: str) -> None:
    order = vendor.place(payer)

    status = vendor.notify(order, amount=amount)
    stored = Payment.objects.count()
    vendor.notify(order)

    assert (status in REFUSED, stored, balance(payer)) == (True, 0, 1000)


@pytest.mark.parametrize("is_early", [True, False])
def test_refund_in_other_currency_waits(
    stripe: StripeVendor, payer: Company, is_early: bool
) -> None:
    order = stripe.place(payer)
    steps: list[Callable[[], object]] = [
        lambda: stripe.notify(order),
        lambda: stripe.refund(order, "r1", "1900.00", currency="usd"),
    ]
    for step in reversed(steps) if is_early else steps:
        step()

    stripe.refund(order, "r2", "950.00")

    assert balance(payer) == 500
    (waiting,) = Refund.objects.needs_review()
    assert (waiting.refund_id, waiting.problem, waiting.taken) == ("r1", "other_currency", 0)


def test_excessive_refunds_take_bought_tokens_and_wait(
    stripe: StripeVendor, payer: Company
) -> None:
    order = stripe.place(payer)
    stripe.notify(order)

    stripe.refund(order, "r1", "1000.00")
    stripe.refund(order, "r2", "1000.00")

    assert balance(payer) == 0
    assert [refund.refund_id for refund in Refund.objects.needs_review()] == ["r2"]


BODIES = [
    DEEP,
    b'{"type": "x", "data": ' + DEEP + b"}",
    b'{"qrId": ' + DEEP + b"}",
    b'{"operationId": "1", "accountNumber": "4\\u0000"}',
    b'{"qrId": "a\\u0000b"}',
    b'{"qrId": "\\ud800"}',
    b'{"event": "payment.succeeded", "object": {"id": "\\ud800"}}',
    b'{"event": "refund.succeeded", "object": {"id": "a\\u0000b"}}',
    b'{"event": "refund.succeeded", "object": {"id": "' + b"1" * 5000 + b'"}}',
    *(
        b'{"type": "refund.created", "data": {"object": {"id": %s, "amount": %s, '
        b'"currency": %s, "payment_intent": %s, "status": "succeeded"}}}' % facts
        for facts in (
            (b'"re_1"', b"1" + b"0" * 5000, b'"usd"', b'"pi_1"'),
            (b'"re_1"', b"1e999", b'"usd"', b'"pi_1"'),
            (b'"re_1"', b"NaN", b'"usd"', b'"pi_1"'),
            (b'"re_\\u0000"', b"100", b'"usd"', b'"pi_1"'),
            (b'"re_1"', b"100", b'"us\\u0000"', b'"pi_1"'),
            (b'"re_1"', b"100", b'"usd"', b'"pi_\\u0000"'),
            (b'"%s"' % (b"r" * 500), b"100", b'"usd"', b'"pi_1"'),
        )
    ),
    *(
        b'{"payment": %s, "order": "", "amount": %s, "currency": %s, "state": "paid"}' % facts
        for facts in (
            (b'"p"', b'"Infinity"', b'"RUB"'),
            (b'"p"', b'"NaN"', b'"RUB"'),
            (b'"p"', b"1e999", b'"RUB"'),
            (b'"p"', b'"1e30"', b'"RUB"'),
            (b'"p"', b'"1e-999999"', b'"RUB"'),
            (b'"p"', b'"1.999"', b'"RUB"'),
            (b'"p\\u0000"', b'"1.00"', b'"RUB"'),
            (b'"p"', b'"1.00"', b'"R\\u0000B"'),
            (b'"%s"' % (b"p" * 500), b'"1.00"', b'"RUB"'),
        )
    ),
]


def test_odd_bodies_are_refused_by_every_gateway(vendor: Vendor) -> None:
    for body in BODIES:
        statuses = {post_as(vendor.name, body), post_webhook(body)}

        assert statuses == {403}, body[:200]
    assert not Payment.objects.exists()
    assert not Refund.objects.exists()


def post_as(name: str, body: bytes) -> int:
    """Posts with the signature, the secret or the address that proves the provider."""
    if name == "stripe":
        stripe = gateway("stripe")
        now = str(int(time.time()))
        assert isinstance(stripe, Stripe)
        signature = f"t={now},v1={stripe.sign(now, body)}"
        return post("stripe", body, headers={"Stripe-Signature": signature})
    if name == "yookassa":
        return post("yookassa", body, REMOTE_ADDR="185.71.76.1")
    return post("tbank", body, headers={"Authorization": "Bearer from-the-bank"})
