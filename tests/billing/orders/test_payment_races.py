"""Concurrent events of one payment credit it exactly once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from functools import partial

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from accounts.models import Company
from billing.models import Order, Payment
from billing.orders import orders, payments
from billing.wallet import ledger
from tests.api.blocking import start_blocked
from tests.api.races import at_once
from tests.billing.orders.test_payments import problems
from tests.billing.top_ups import payment_event, place_order, post_webhook
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
TODAY = timezone.localdate()


@pytest.mark.django_db(transaction=True)
def test_twenty_payments_at_once_credit_their_order_once(payer: Company) -> None:
    order = place_order(payer)
    events = [payment_event(order, payment_id=f"sandbox-{n}") for n in range(20)]

    at_once([partial(post_webhook, event) for event in events])

    assert ledger.balance(payer.pk) == (1000, 0)
    assert sorted(problems()) == [""] + ["second"] * 19


@pytest.mark.django_db(transaction=True)
def test_parallel_webhooks_of_unknown_order_store_one_payment(payer: Company) -> None:
    order = place_order(payer)
    stray = replace(payment_event(order), order_id="", payment_id="sandbox-nobody")

    statuses = at_once([partial(post_webhook, stray)] * 20)

    assert set(statuses) == {200}
    assert problems() == ["unknown_order"]


@pytest.mark.django_db(transaction=True)
def test_confirmation_beside_webhooks_credits_once(payer: Company) -> None:
    order = place_order(payer, "invoice")
    Order.objects.filter(pk=order.pk).update(gateway="sandbox", payment_id="sandbox-1")
    order.refresh_from_db()
    user = UserFactory.create()

    def confirm_it() -> object:
        return payments.confirm_bank_transfer(
            order=order, amount=order.amount, paid_on=TODAY, reference="1", user=user
        )

    calls: list[Callable[[], object]] = [
        *([partial(post_webhook, payment_event(order))] * 8),
        *([confirm_it] * 8),
        *([partial(orders.cancel, order=order, user=user)] * 4),
    ]
    at_once(calls)

    order.refresh_from_db()
    assert order.state == "paid"
    assert ledger.balance(payer.pk) == (1000, 0)
    assert Payment.objects.filter(is_credited=True).count() == 1


@pytest.mark.django_db(transaction=True)
def test_transfer_confirms_only_one_of_two_orders_at_once(payer: Company) -> None:
    placed = [place_order(payer, "invoice") for _ in range(2)]
    user = UserFactory.create()

    def confirm(order: Order) -> str:
        try:
            payments.confirm_bank_transfer(
                order=order, amount=order.amount, paid_on=TODAY, reference="7", user=user
            )
        except ValidationError as error:
            return str(error.code)
        return "done"

    results = at_once([partial(confirm, order) for order in placed * 3])

    assert (results.count("done"), results.count("used")) == (3, 3)
    assert ledger.balance(payer.pk) == (1000, 0)


@pytest.mark.django_db(transaction=True)
def test_acceptance_waits_for_a_settlement(payer: Company) -> None:
    order = place_order(payer)
    user = UserFactory.create()
    post_webhook(payment_event(order, amount=Decimal(1)))
    payment = Payment.objects.get()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            payments.close_problem(payment=Payment.objects.get(), user=user)
            accept = partial(payments.credit_in_full, payment=payment, user=user)
            accepted = start_blocked(pool, accept)
        assert accepted.result() is False

    assert ledger.balance(payer.pk) == (0, 0)
    assert not Payment.objects.filter(is_credited=True).exists()
