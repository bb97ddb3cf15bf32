"""A transfer that an operator confirms by hand, and that the statement has too, counts once."""

from collections.abc import Callable
from decimal import Decimal
from functools import partial

import pytest
from django.utils import timezone

from accounts.models import User
from billing.bank_statements import review
from billing.models import BankTransfer, Order, Payment, Transfer
from billing.orders import payments
from billing.web import payment_problems
from tests.billing.bank_statements.transfers import (
    balance,
    confirm_by_hand,
    paid,
    received,
    returned,
)
from tests.billing.top_ups import place_order
from tests.factories import CompanyFactory

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("is_confirmed_first", [True, False])
@pytest.mark.parametrize(
    "purpose", ["по счёту {other}", "по счёту {of_another_company}", "Аванс", "{other}, {bought}"]
)
def test_transfer_counts_once_whatever_its_payer_names(
    invoice: Order, operator: User, purpose: str, *, is_confirmed_first: bool
) -> None:
    other = place_order(invoice.company, "invoice")
    same_payer = place_order(CompanyFactory.create(), "invoice")
    named = purpose.format(
        other=other.number, of_another_company=same_payer.number, bought=invoice.number
    )
    line = paid(invoice, document_number="18", booked_on=timezone.localdate(), purpose=named)
    steps: list[Callable[[], object]] = [
        partial(confirm_by_hand, invoice, operator, "18"),
        partial(received, line),
    ]

    for step in steps if is_confirmed_first else reversed(steps):
        step()

    tasks = Payment.objects.needs_review().count() + BankTransfer.objects.needs_review().count()
    assert Transfer.objects.filter(kind="top_up").count() + tasks == 1


def test_fully_credited_payment_line_needs_no_review(invoice: Order, operator: User) -> None:
    less = Decimal("950.00")
    payment = confirm_by_hand(invoice, operator, amount=less)
    assert payment is not None
    assert payments.credit_in_full(payment=payment, user=operator)

    transfer = received(paid(invoice, amount=less))

    assert (transfer.state, transfer.payment, balance(invoice)) == ("matched", payment, 1000)


def test_transfer_with_another_number_is_separate(invoice: Order, operator: User) -> None:
    other = place_order(invoice.company, "invoice")
    confirm_by_hand(other, operator, "18")

    received(paid(invoice, booked_on=timezone.localdate()))

    assert balance(invoice) == 2000


def test_transfer_that_is_not_a_top_up_is_not_taken_back(invoice: Order, operator: User) -> None:
    transfer = received(paid(invoice, amount=Decimal("500.00")))
    assert payment_problems.of_order(invoice)

    review.dismiss(transfer=transfer, user=operator)

    assert payment_problems.of_order(invoice) == []


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_return_of_unnamed_second_transfer_takes_no_tokens(
    invoice: Order, operator: User, *, is_confirmed: bool
) -> None:
    received(paid(invoice))
    if is_confirmed:
        second = confirm_by_hand(invoice, operator, "18")
        assert second is not None
        payments.close_problem(payment=second, user=operator, resolution="returned")
    else:
        unnamed = received(paid(invoice, document_number="18", purpose="Аванс"))
        review.mark_returned(transfer=unnamed, user=operator)

    back = received(returned(invoice, document_number="5"))

    assert (back.state, back.problem, balance(invoice)) == ("review", "refund", 1000)


def test_second_top_up_keeps_the_buyer_of_the_first(invoice: Order, operator: User) -> None:
    received(paid(invoice))
    second = confirm_by_hand(invoice, operator, "18")
    assert second is not None
    assert payments.credit_received(payment=second, user=operator)

    assert second.order is not None
    assert second.order.parties == invoice.parties
