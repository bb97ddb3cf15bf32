"""Incoming transfers: exact ones credit once, doubtful ones wait, and each is kept once."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.models import AuditEvent, User
from billing.bank_statements import matching, review
from billing.bank_statements.matching import numbered
from billing.models import BankTransfer, Order, Payment, Refund, Transfer
from billing.orders import orders, payments
from parsing.characters import one_line
from tests.api.races import at_once
from tests.billing.bank_statements.transfers import (
    balance,
    confirm_by_hand,
    paid,
    received,
    returned,
)
from tests.billing.top_ups import place_order
from tests.factories import CompanyFactory, SellerFactory, UserFactory

pytestmark = pytest.mark.django_db


def test_exact_transfer_pays_the_invoice(invoice: Order) -> None:
    transfer = received(paid(invoice))

    payment = Payment.objects.get()
    assert (transfer.state, transfer.problem, transfer.payment) == ("matched", "", payment)
    assert (payment.is_credited, payment.problem, payment.paid_on) == (True, "", transfer.booked_on)
    assert (Order.objects.get().state, balance(invoice)) == ("paid", 1000)


def test_repeated_line_of_a_statement_is_one_transfer(invoice: Order) -> None:
    line = paid(invoice)

    kept = [
        received(line),
        received(replace(line, operation_id="changed-overnight")),
        received(
            replace(line, source="file", document_number="0017", booked_on=date(2026, 11, 26))
        ),
    ]

    assert len({transfer.pk for transfer in kept}) == 1
    assert (Payment.objects.count(), balance(invoice)) == (1, 1000)


@pytest.mark.parametrize("unseen", ["\u00ad", "\u200b", "\ufeff"])
def test_transfer_is_recognised_despite_invisible_characters(invoice: Order, unseen: str) -> None:
    line = paid(invoice)
    of_file = replace(line, source="file", purpose=f"Оп{unseen}лата {line.purpose[7:]}")
    of_bank = replace(line, purpose=one_line(of_file.purpose))

    assert received(of_file).pk == received(of_bank).pk
    assert BankTransfer.objects.get().state == "matched"


@pytest.mark.django_db(transaction=True)
def test_parallel_readings_credit_once() -> None:
    SellerFactory.create()
    invoice = place_order(CompanyFactory.create(), "invoice")
    again = paid(invoice, document_number="18")

    at_once(
        [partial(matching.receive, transfer) for transfer in (paid(invoice), paid(invoice), again)]
    )

    states = BankTransfer.objects.values_list("state", "problem")
    assert sorted(states) == [("matched", ""), ("review", "second")]
    assert (Transfer.objects.filter(kind="top_up").count(), balance(invoice)) == (1, 1000)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"amount": Decimal("1899.99")}, "wrong_amount"),
        ({"amount": Decimal(3800)}, "wrong_amount"),
        ({"currency": "USD"}, "wrong_currency"),
        ({"party_inn": "7700000005"}, "wrong_payer"),
        ({"party_inn": ""}, "wrong_payer"),
        ({"purpose": "Пополнение счета по договору б/н"}, "unknown_order"),
        ({"purpose": "Оплата счета 2026-999999"}, "unknown_order"),
        ({"purpose": ""}, "unknown_order"),
        ({"purpose": "Оплата 99999-2026-1-2-3 от 2026-11-25"}, "unknown_order"),
    ],
)
def test_doubtful_transfer_waits(invoice: Order, changes: dict[str, Any], problem: str) -> None:
    transfer = received(paid(invoice, **changes))

    assert (transfer.state, transfer.problem, transfer.payment) == ("review", problem, None)
    assert (Payment.objects.count(), balance(invoice)) == (0, 0)


@pytest.mark.parametrize(
    "purpose",
    [
        "Оплата по счету {year}-{number}",
        "ОПЛАТА СЧЕТА №{year}-0000{number} ОТ 25.11.2026 БЕЗ НДС",
        "сч. {year} - {number}, токены",
        "счёт на оплату № {number} от 25.11.{year}г.",
        "Оплата по счету N {number} от 25.11.{short} за токены",
        "Перевод top_{id}",
    ],
)
def test_invoice_number_is_found_in_each_wording(invoice: Order, purpose: str) -> None:
    year = invoice.invoice_year or 0
    facts = {"year": year, "short": year % 100, "number": invoice.invoice_number}

    transfer = received(paid(invoice, purpose=purpose.format(**facts, id=invoice.pk.hex)))

    assert (transfer.problem, balance(invoice)) == ("", 1000)


def test_two_invoices_in_one_transfer_wait(invoice: Order) -> None:
    second = place_order(invoice.company, "invoice")

    line = paid(invoice, amount=Decimal(3800), purpose=f"{invoice.number}, {second.number}")

    assert received(line).problem == "several"


def test_equal_lines_of_one_statement_are_two_transfers(invoice: Order) -> None:
    twins = [paid(invoice), paid(invoice, operation_id="op-2")]

    for _reading in range(2):
        for line in numbered(twins):
            matching.receive(line)

    states = BankTransfer.objects.order_by("pk").values_list("state", "problem")
    assert list(states) == [("matched", ""), ("review", "second")]


def test_cancelled_invoice_waits_and_an_expired_one_is_credited(
    invoice: Order, operator: User
) -> None:
    late = place_order(invoice.company, "invoice")
    orders.cancel(order=invoice, user=operator)
    Order.objects.filter(pk=late.pk).update(expires_at=timezone.now() - timedelta(days=1))
    orders.expire()

    cancelled = received(paid(invoice))
    expired = received(paid(late, document_number="18"))

    assert (cancelled.problem, expired.problem) == ("canceled", "")
    assert (Payment.objects.get().problem, balance(invoice)) == ("late", 1000)


@pytest.mark.parametrize("amount", ["1900.00", "950.00"])
def test_hand_credited_second_payment_is_matched(
    invoice: Order, operator: User, amount: str
) -> None:
    received(paid(invoice))
    second = payments.confirm_bank_transfer(
        order=invoice,
        amount=Decimal(amount),
        paid_on=date(2026, 11, 26),
        reference="№ 18",
        user=operator,
    )
    assert second is not None
    assert payments.credit_received(payment=second, user=operator)
    before = balance(invoice)
    came = paid(invoice, document_number="000018", amount=Decimal(amount), operation_id="op-2")

    transfer = received(came)
    third = received(replace(came, document_number="19", operation_id="op-3"))

    second.refresh_from_db()
    assert (transfer.state, transfer.payment, transfer.order) == ("matched", second, second.order)
    assert (third.state, third.problem, third.payment) == ("review", "second", None)
    assert balance(invoice) == before
    assert Payment.objects.count() == 2


@pytest.mark.parametrize("is_confirmed_first", [True, False])
@pytest.mark.parametrize("share", [1, 2])
def test_transfer_that_needs_attention_is_one_task(
    invoice: Order, operator: User, share: int, *, is_confirmed_first: bool
) -> None:
    if share == 1:  # else the first one, of another sum
        received(paid(invoice))
    before = balance(invoice)
    amount = invoice.amount / share
    line = paid(invoice, document_number="18", operation_id="op-2", amount=amount)
    steps: list[Callable[[], object]] = [
        partial(confirm_by_hand, invoice, operator, "18", amount),
        partial(received, line),
    ]

    for step in steps if is_confirmed_first else reversed(steps):
        step()

    waiting = Payment.objects.filter(is_credited=False, settled_at=None).exclude(problem="")
    assert waiting.count() + BankTransfer.objects.needs_review().count() == 1
    assert balance(invoice) == before


def test_transfer_that_was_confirmed_by_hand_is_that_payment(
    invoice: Order, operator: User
) -> None:
    payment = confirm_by_hand(invoice, operator)

    transfer = received(paid(invoice))

    assert (transfer.state, transfer.payment, balance(invoice)) == ("matched", payment, 1000)


def test_manual_credit_after_statement_credits_nothing(invoice: Order, operator: User) -> None:
    received(paid(invoice))

    assert confirm_by_hand(invoice, operator, "000017") is None
    assert (Payment.objects.count(), balance(invoice)) == (1, 1000)


def test_operator_assigns_once(invoice: Order, operator: User) -> None:
    transfer = received(paid(invoice, party_inn=""))

    done = [
        review.assign(transfer=transfer, order=invoice, user=operator),
        review.assign(transfer=transfer, order=invoice, user=operator),
        review.mark_returned(transfer=transfer, user=operator),
    ]

    assert done == [True, False, False]
    assert (balance(invoice), Payment.objects.get().confirmed_by) == (1000, operator)
    assert AuditEvent.objects.filter(action="transfer.assigned").count() == 1


@pytest.mark.django_db(transaction=True)
def test_concurrent_decisions_of_operators_count_once() -> None:
    SellerFactory.create()
    invoice = place_order(CompanyFactory.create(), "invoice")
    user = UserFactory.create(is_staff=True)
    transfer = received(paid(invoice, party_inn=""))

    def decide(verb: Callable[..., bool], **more: Any) -> bool:
        return verb(transfer=BankTransfer.objects.get(pk=transfer.pk), user=user, **more)

    done = at_once(
        [
            partial(decide, review.assign, order=invoice),
            partial(decide, review.mark_returned),
            partial(decide, review.dismiss),
        ]
    )

    assert sorted(done) == [False, False, True]
    is_assigned = BankTransfer.objects.get().state == "assigned"
    assert balance(invoice) == (1000 if is_assigned else 0)


def test_operator_credits_what_came(invoice: Order, operator: User) -> None:
    """Too little money makes the top-up smaller; a second transfer is a second top-up."""
    less = received(paid(invoice, amount=invoice.amount / 2))
    done = [
        review.assign(transfer=less, order=invoice, user=operator, as_received=True)
        for _time in range(2)
    ]
    invoice.refresh_from_db()
    again = received(paid(invoice, document_number="18"))
    review.assign(transfer=again, order=invoice, user=operator, as_received=True)

    assert done == [True, False]
    assert (invoice.tokens, balance(invoice)) == (500, 1000)
    assert again.order not in {invoice, None}
    assert Payment.objects.filter(is_credited=True, settled_at=None).count() == 0
    assert BankTransfer.objects.needs_review().count() == 0


def test_sum_that_buys_nothing_is_not_credited(invoice: Order, operator: User) -> None:
    transfer = received(paid(invoice, amount=Decimal("0.01")))

    with pytest.raises(ValidationError):
        review.assign(transfer=transfer, order=invoice, user=operator, as_received=True)

    assert (Payment.objects.count(), balance(invoice)) == (0, 0)
    assert BankTransfer.objects.needs_review().get() == transfer


def test_paid_order_takes_no_other_transfer(invoice: Order, operator: User) -> None:
    received(paid(invoice))
    second = received(paid(invoice, document_number="18"))

    with pytest.raises(ValidationError):
        review.assign(transfer=second, order=invoice, user=operator)

    assert review.mark_returned(transfer=second, user=operator)
    assert (BankTransfer.objects.needs_review().count(), balance(invoice)) == (0, 1000)


def test_refund_of_an_invoice_takes_its_share_once(invoice: Order) -> None:
    received(paid(invoice))

    for _reading in range(2):
        received(returned(invoice, amount=Decimal("950.00")))

    assert (balance(invoice), Refund.objects.count()) == (500, 1)


def test_refund_of_a_second_payment_takes_no_tokens(invoice: Order, operator: User) -> None:
    received(paid(invoice))
    received(paid(invoice, document_number="18"))

    transfer = received(returned(invoice, document_number="5"))

    assert (transfer.state, transfer.problem, balance(invoice)) == ("review", "refund", 1000)
    assert review.take_back(transfer=transfer, user=operator)
    assert not review.take_back(transfer=transfer, user=operator)
    assert balance(invoice) == 0


def test_refund_to_stranger_takes_no_tokens(invoice: Order) -> None:
    """Their payment is not in a statement that we read, and the bank quotes its words."""
    received(paid(invoice))

    transfer = received(returned(invoice, party_inn="7700000009"))

    assert (transfer.state, transfer.problem, balance(invoice)) == ("review", "refund", 1000)


def test_outgoing_money_of_others_is_not_kept(invoice: Order) -> None:
    salary = returned(invoice, purpose="Заработная плата за ноябрь")
    goods = returned(invoice, purpose="Возврат по договору 7")

    assert [matching.receive(salary), matching.receive(goods)] == [None, None]
    assert not BankTransfer.objects.exists()


def test_refund_of_an_unpaid_invoice_waits(invoice: Order, operator: User) -> None:
    transfer = received(returned(invoice))

    assert transfer.problem == "refund"
    with pytest.raises(ValidationError):
        review.take_back(transfer=transfer, user=operator)
