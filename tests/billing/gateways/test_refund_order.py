"""Refunds, disputes and payments in any order take the same tokens."""

from decimal import Decimal
from itertools import permutations

import pytest
from django.db.models import F

from accounts.models import Company
from billing.models import Payment, Refund
from billing.orders import payments, refunds
from billing.wallet import ledger
from operator_admin import attention
from tests.billing.gateways.test_contract import balance
from tests.billing.gateways.vendors import StripeVendor, Vendor
from tests.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wire")]


@pytest.mark.parametrize("steps", list(permutations(["pay", "dispute", "win"])), ids="-".join)
def test_dispute_that_was_won_takes_nothing(
    stripe: StripeVendor, payer: Company, steps: tuple[str, ...]
) -> None:
    order = stripe.place(payer)
    webhooks = {
        "pay": lambda: stripe.notify(order),
        "dispute": lambda: stripe.dispute(order, is_won=False),
        "win": lambda: stripe.dispute(order, is_won=True),
    }

    balances = []
    for step in (*steps, *steps):  # each twice
        assert webhooks[step]() == 200
        balances.append(balance(payer))

    assert balances[2:] == [1000] * 4
    assert Refund.objects.needs_review().count() == 0


def test_won_dispute_after_manual_deduction_waits_for_operator(
    stripe: StripeVendor, payer: Company
) -> None:
    order = stripe.place(payer)
    user = UserFactory.create()
    stripe.notify(order)
    ledger.withdraw(company=payer, amount=700, reason="spent")
    stripe.dispute(order, is_won=False)
    refund = Refund.objects.get()
    refunds.close(refund=refund, user=user, note="700 deducted")
    assert Refund.objects.needs_review().count() == 0

    stripe.dispute(order, is_won=True)

    assert Refund.objects.needs_review().get() == refund
    (open_refund,) = attention.page(["refund"], 0)
    assert open_refund.detail == "спор выигран: верните то, что списали вручную"
    assert refunds.close(refund=refund, user=user, note="700 given back")
    assert Refund.objects.needs_review().count() == 0


def test_accepted_payment_is_credited_less_its_refunds(vendor: Vendor, payer: Company) -> None:
    order = vendor.place(payer)
    vendor.notify(order, amount="1000.00")
    vendor.refund(order, "r1", "400.00")

    assert payments.credit_in_full(payment=Payment.objects.get(), user=UserFactory.create())

    assert (balance(payer), Refund.objects.get().tokens) == (600, 400)


def test_each_waiting_refund_has_its_own_share(stripe: StripeVendor, payer: Company) -> None:
    order = stripe.place(payer)
    stripe.notify(order, amount="1000.00")
    for refund_id in ("r1", "r2"):
        stripe.refund(order, refund_id, "500.00")
    assert payments.credit_in_full(payment=Payment.objects.get(), user=UserFactory.create())
    assert balance(payer) == 0

    failed = {
        "id": "r2",
        "amount": 50_000,
        "currency": "eur",
        "payment_intent": f"pi_{order.pk.hex}",
        "status": "failed",
    }
    assert stripe.post("refund.failed", failed) == 200

    assert balance(payer) == 500


def test_refund_share_is_of_paid_amount(vendor: Vendor, payer: Company) -> None:
    order = vendor.place(payer)
    vendor.notify(order, amount="950.00")
    payments.credit_in_full(payment=Payment.objects.get(), user=UserFactory.create())

    vendor.refund(order, "r1", "950.00")

    assert balance(payer) == 0


def test_refund_after_failed_one_takes_the_rest(stripe: StripeVendor, payer: Company) -> None:
    order = stripe.place(payer, amount="10.00", tokens=1000)
    stripe.notify(order)
    for refund_id, amount, status in (
        ("re_1", "10.00", "succeeded"),
        ("re_1", "10.00", "failed"),
        ("re_2", "6.00", "succeeded"),
        ("re_3", "4.00", "succeeded"),
    ):
        what = {
            "id": refund_id,
            "amount": int(Decimal(amount) * 100),
            "currency": "eur",
            "payment_intent": f"pi_{order.pk.hex}",
            "status": status,
        }
        assert stripe.post("refund.updated", what) == 200

    assert balance(payer) == 0
    assert Refund.objects.needs_review().count() == 0


@pytest.mark.parametrize("spent", [0, 700])
@pytest.mark.parametrize("steps", list(permutations(["dispute", "win", "refund"])), ids="-".join)
def test_refund_beside_a_dispute_that_was_won_takes_its_share(
    stripe: StripeVendor, payer: Company, steps: tuple[str, ...], spent: int
) -> None:
    order = stripe.place(payer)
    stripe.notify(order)
    if spent:
        ledger.withdraw(company=payer, amount=spent, reason="spent")
    webhooks = {
        "dispute": lambda: stripe.dispute(order, is_won=False),
        "win": lambda: stripe.dispute(order, is_won=True),
        "refund": lambda: stripe.refund(order, "re_1", "1900.00"),
    }

    for step in (*steps, *steps):  # each twice
        assert webhooks[step]() == 200

    refund = Refund.objects.get(refund_id="re_1")
    assert (balance(payer), refund.tokens, refund.owed) == (0, 1000, spent)
    assert Refund.objects.needs_review().count() == bool(spent)


@pytest.mark.parametrize("failed", list(permutations(["re_1", "re_2", "re_3"], 2)), ids="-".join)
def test_failed_refunds_leave_the_others_their_exact_share(
    stripe: StripeVendor, payer: Company, failed: tuple[str, ...]
) -> None:
    order = stripe.place(payer, amount="30.00", tokens=10)
    stripe.notify(order)
    balances = []
    left = {"re_1": 7, "re_2": 9, "re_3": 14}
    for refund_id, amount in left.items():
        stripe.refund(order, refund_id, f"{amount}.00")

    for refund_id in failed:
        what = {
            "id": refund_id,
            "amount": left.pop(refund_id) * 100,
            "currency": "eur",
            "payment_intent": f"pi_{order.pk.hex}",
            "status": "failed",
        }
        assert stripe.post("refund.failed", what) == 200
        balances.append(balance(payer) + sum(left.values()) * 10 // 30)

    assert balances == [10, 10]
    assert not Refund.objects.filter(returned_at=None, taken__lt=F("tokens")).exists()
