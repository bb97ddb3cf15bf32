"""The simulated Stripe against our gateway, and its objects against Stripe's own library."""

from decimal import Decimal
from itertools import count
from typing import Any

import pytest

from billing.gateways.base import DeclinedError, PaymentRequest, PaymentState, SavedPaymentMethod
from billing.gateways.stripe import Stripe
from tests.tools.simulator.peers import ACCOUNT, Simulator, get, post

NUMBERS = count(1)


@pytest.fixture
def stripe(simulator: Simulator) -> Stripe:
    return Stripe(
        url=f"{simulator.url}/stripe",
        secret_key=ACCOUNT["STRIPE_SECRET_KEY"],
        webhook_secret=ACCOUNT["STRIPE_WEBHOOK_SECRET"],
    )


def request(currency: str = "EUR", **changes: Any) -> PaymentRequest:
    fields: dict[str, Any] = {
        "order_id": f"order-{next(NUMBERS)}",
        "amount": Decimal("19.00"),
        "currency": currency,
        "title": "Tokens",
        "return_url": "https://kv.example/back",
        "saves_method": True,
    }
    return PaymentRequest(**(fields | changes))


def act(simulator: Simulator, payment_id: str, action: str) -> None:
    response = post(f"{simulator.url}/payments/{payment_id}/actions", json={"action": action})
    assert response.ok, response.text


def paid(simulator: Simulator, stripe: Stripe) -> str:
    payment_id = stripe.open(request()).payment_id
    act(simulator, payment_id, "pay")
    return payment_id


def saved(simulator: Simulator, stripe: Stripe) -> SavedPaymentMethod:
    method = stripe.method_of(paid(simulator, stripe))
    assert method is not None
    return method


def test_paid_page_saves_the_card(simulator: Simulator, stripe: Stripe) -> None:
    method = saved(simulator, stripe)

    assert (method.brand, method.last4) == ("Visa", "4242")
    assert (method.method_id[:3], method.customer_id[:4]) == ("pm_", "cus_")


def test_saved_card_is_charged_once_for_each_key(simulator: Simulator, stripe: Stripe) -> None:
    method = saved(simulator, stripe)
    payment = request()

    first = stripe.charge(method, payment)
    again = stripe.charge(method, payment)

    assert first.event is not None
    assert (first.event.state, first.event.order_id) == (PaymentState.PAID, payment.order_id)
    assert first == again
    assert stripe.poll(first.payment_id) == first.event


def test_unsaved_card_is_declined(stripe: Stripe) -> None:
    with pytest.raises(DeclinedError, match="No such PaymentMethod"):
        stripe.charge(SavedPaymentMethod("pm_1", "cus_1"), request())


def test_repeat_is_answered_as_the_first_time(simulator: Simulator, stripe: Stripe) -> None:
    payment = request()
    first = stripe.open(payment)
    act(simulator, first.payment_id, "pay")

    assert stripe.open(payment) == first


@pytest.mark.parametrize("currency", ["KWD", "XPF", "EUR"])
def test_payment_amount_equals_requested(
    simulator: Simulator, stripe: Stripe, currency: str
) -> None:
    payment_id = stripe.open(request(currency)).payment_id

    payments = get(f"{simulator.url}/payments.json").json()

    (amount,) = (payment["amount"] for payment in payments if payment["id"] == payment_id)
    assert Decimal(amount) == 19
