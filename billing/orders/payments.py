"""Incoming payments. An order is credited once, even if several webhooks and confirmations arrive.

The order's row is the lock that serialises webhooks, confirmations and cancellations of an order.
"""

import re
from contextlib import suppress
from datetime import date, timedelta
from decimal import Decimal
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit import Changes, record
from accounts.models import Company, User
from billing import notifications
from billing.gateways.base import PaymentEvent, PaymentState
from billing.models import BankTransfer, Order, Payment
from billing.orders import orders, refunds
from billing.wallet import ledger

Problem = Payment.Problem
CREDITED = {"", Problem.LATE}
IGNORED_IN_REFERENCE = re.compile(r"[\s№]+")  # 15, № 15 and 000015 are the same number


@transaction.atomic
def apply_event(gateway: str, event: PaymentEvent) -> Payment | None:
    """Applies a verified event; idempotent for repeated, late and reordered webhooks."""
    refunds.lock_gateway(gateway)
    order = _find_order(gateway, event)
    order = lock(order.pk) if order else None
    if event.state is PaymentState.CANCELED:
        if order is not None and order.payment_id == event.payment_id:
            Order.objects.filter(pk=order.pk).end(Order.State.CANCELED)
        return None
    problem = _problem(order, event.amount, event.currency)
    payment, is_new = Payment.objects.get_or_create(
        gateway=gateway,
        payment_id=event.payment_id,
        defaults={
            "order": order,
            "amount": event.amount,
            "currency": event.currency,
            "reference": event.reference[:60],
            "problem": problem,
            "is_credited": problem in CREDITED,
        },
    )
    if is_new and order is not None and payment.is_credited:
        _credit(order)
    if is_new:
        refunds.apply_waiting(payment)
    return payment


@transaction.atomic
def confirm_bank_transfer(
    *,
    order: Order,
    amount: Decimal,
    paid_on: date,
    reference: str,
    user: User,
    ip: str | None = None,
) -> Payment | None:
    """Records a bank transfer that the operator saw, and credits the order if the payment fits.

    Returns None if it is recorded already. A mistyped amount may be corrected.
    """
    refunds.lock_gateway(order.gateway)  # one transfer may be confirmed for two orders at once
    order = lock(order.pk)
    transfer_id = _bank_transfer_id(order.company, paid_on, reference)
    if _is_from_statement(order, amount, paid_on, reference):
        return None
    existing = Payment.objects.select_for_update().filter(payment_id=transfer_id).first()
    if existing is not None and not _may_correct(existing, order, amount):
        return None
    payment = existing or Payment(gateway=order.gateway, payment_id=transfer_id, order=order)
    payment.amount = amount
    payment.currency = order.currency
    payment.problem = _problem(order, amount, order.currency)
    payment.is_credited = payment.problem in CREDITED
    payment.reference = reference
    payment.paid_on = paid_on
    payment.confirmed_by = user
    payment.save()
    if not payment.is_credited:
        record("payment.recorded", payment, company=order.company, user=user, ip=ip)
        return payment
    bought = orders.audited_values(order)
    record("order.confirmed", order, company=order.company, user=user, ip=ip, changes=bought)
    _credit(order)
    return payment


@transaction.atomic
def credit_in_full(*, payment: Payment, user: User, ip: str | None = None) -> bool:
    """Credits an order in full for a payment that did not fit; False if either is settled."""
    order = _locked_for_review(payment)
    if order is None or order.state == Order.State.PAID:
        return False
    _accept(payment, order, user, ip)
    return True


@transaction.atomic
def credit_received(*, payment: Payment, user: User, ip: str | None = None) -> bool:
    """Credits the tokens that the sum buys at the order's price; False if that is unknown or done.

    The order is changed to the paid amount, so that its documents and refunds follow. An order that
    was already paid gets a second order in addition.
    """
    order = _locked_for_review(payment)
    tokens = payment.tokens_to_credit
    if order is None or not tokens:
        return False
    before = [f"{order.tokens}", f"{order.amount} {order.currency}"]
    if order.state == Order.State.PAID:
        order = payment.order = _copy_of(order)
    order.tokens = tokens
    order.amount = payment.amount
    order.save()
    changes: Changes = {
        "tokens": [before[0], tokens],
        "amount": [before[1], f"{order.amount} {order.currency}"],
    }
    _accept(payment, order, user, ip, changes)
    return True


def _locked_for_review(payment: Payment) -> Order | None:
    """Locks the payment and its order; returns the order. None without an order, or if the payment
    was settled or credited in the meantime.
    """
    if payment.order_id is None:
        return None
    refunds.lock_gateway(payment.gateway)  # before the order, like for webhooks
    order = lock(payment.order_id)
    payment.refresh_from_db(from_queryset=Payment.objects.select_for_update())
    if payment.settled_at is not None or payment.is_credited or payment.order_id != order.pk:
        return None
    payment.order = order
    return order


def _copy_of(order: Order) -> Order:
    shared = ("company", "currency", "vat_rate", "gateway", "language", "parties", "created_by")
    return Order(**{name: getattr(order, name) for name in shared}, expires_at=timezone.now())


def _accept(
    payment: Payment, order: Order, user: User, ip: str | None, changes: Changes | None = None
) -> None:
    payment.is_credited = True
    payment.save(update_fields=["order", "is_credited"])
    payment.mark_settled(user, Payment.Resolution.CREDITED)
    company = order.company
    record("payment.accepted", payment, company=company, user=user, ip=ip, changes=changes)
    _credit(order)
    refunds.apply_waiting(payment)


@transaction.atomic
def close_problem(
    *,
    payment: Payment,
    user: User,
    ip: str | None = None,
    resolution: str = Payment.Resolution.CLOSED,
    note: str = "",
) -> bool:
    """Marks a problem payment as handled, e.g. returned; False if it was handled already."""
    payment.refresh_from_db(from_queryset=Payment.objects.select_for_update())
    if payment.settled_at is not None or not payment.problem:
        return False
    payment.mark_settled(user, resolution, note)
    company = payment.order.company if payment.order else None
    changes: Changes = {"resolution": ["", resolution], "note": ["", note]}
    record("payment.settled", payment, company=company, user=user, ip=ip, changes=changes)
    return True


def credit_bank_transfer(
    *,
    order: Order,
    payment_id: str,
    amount: Decimal,
    currency: str,
    paid_on: date,
    reference: str,
    user: User,
    as_received: bool = False,
) -> Payment:
    """Credits a locked order with a transfer that the operator assigned to it.

    An unpaid order is credited in full, or, with `as_received`, with the tokens that the sum buys.
    Raises ValidationError if it buys none.
    """
    problem = _problem(order, amount, currency)
    payment = Payment.objects.create(
        gateway=order.gateway,
        payment_id=payment_id,
        order=order,
        amount=amount,
        currency=currency,
        problem=problem,
        reference=reference,
        paid_on=paid_on,
        confirmed_by=user,
    )
    if as_received and problem:
        if not credit_received(payment=payment, user=user):
            raise ValidationError(_("This sum buys no tokens of that top-up."), code="sum")
        return payment
    payment.is_credited = True
    payment.save(update_fields=["is_credited"])
    if problem:
        payment.mark_settled(user, Payment.Resolution.CREDITED)
    _credit(order)
    refunds.apply_waiting(payment)
    return payment


def bank_reference_number(reference: str) -> str:
    return IGNORED_IN_REFERENCE.sub("", reference).lstrip("0")


def _credit(order: Order) -> None:
    order.mark_paid()
    notifications.notify_payment(order)
    ledger.top_up(  # the wallet is locked last
        company=order.company, amount=order.tokens, key=order.transfer_key, reason=str(order)
    )


def _find_order(gateway: str, event: PaymentEvent) -> Order | None:
    matches = Q(payment_id=event.payment_id) if event.payment_id else Q(pk=None)
    with suppress(ValueError):  # the provider may use its own order ids
        matches |= Q(pk=UUID(hex=event.order_id))
    return Order.objects.filter(matches, gateway=gateway).first()


def lock(pk: UUID) -> Order:
    rows = Order.objects.select_related("company").select_for_update(of=("self",), no_key=True)
    return rows.get(pk=pk)


def _problem(order: Order | None, amount: Decimal, currency: str) -> str:
    if order is None:
        return Problem.UNKNOWN_ORDER
    if order.state == Order.State.PAID:
        return Problem.SECOND
    if order.company.deleted_at is not None:
        return Problem.DELETED
    if currency != order.currency:
        return Problem.WRONG_CURRENCY
    if amount != order.amount:
        return Problem.WRONG_AMOUNT
    return "" if order.is_open else Problem.LATE


def _bank_transfer_id(company: Company, paid_on: date, reference: str) -> str:
    """The id of a bank transfer; with company and day, as payers restart their numbering."""
    return f"{company.pk}:{paid_on:%Y-%m-%d}:{bank_reference_number(reference)}"


NUMBERED_ANEW = timedelta(days=30)  # payers restart their numbers each year at the latest


def days_of_number(day: date) -> tuple[date, date]:
    """The first and last day on which a payer's number names the same transfer."""
    return day - NUMBERED_ANEW, day + NUMBERED_ANEW


def _is_from_statement(order: Order, amount: Decimal, paid_on: date, reference: str) -> bool:
    """Whether the bank statement has already recorded this payment: as credited to this order or
    another of the same buyer, or as awaiting review.
    """
    days = days_of_number(paid_on)
    same_buyer = same_sender = Q(order__company=order.company_id)
    if inn := order.parties.get("buyer", {}).get("inn"):
        same_buyer |= Q(order__parties__buyer__inn=inn)
        same_sender |= Q(party_inn=inn)
    credited = Payment.objects.filter(
        Q(order=order) | same_buyer & Q(paid_on__range=days),
        is_credited=True,
        amount=amount,
        bank_transfers__isnull=False,
    )
    waiting = BankTransfer.objects.needs_review().filter(
        same_sender,
        direction=BankTransfer.Direction.INCOMING,
        amount=amount,
        booked_on__range=days,
    )
    references = [
        *credited.values_list("reference", flat=True),
        *waiting.values_list("document_number", flat=True),
    ]
    return bank_reference_number(reference) in map(bank_reference_number, references)


def _may_correct(payment: Payment, order: Order, amount: Decimal) -> bool:
    if payment.order_id != order.pk:
        raise ValidationError(
            _("This transfer has paid invoice %(number)s already."),
            code="used",
            params={"number": payment.order},
        )
    return payment.amount != amount and not payment.is_credited and payment.settled_at is None
