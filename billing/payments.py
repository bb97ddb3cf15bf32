"""Money that came. An order is credited once, whoever tells of its payment and however often.

The order's row is the lock: notices, confirmations and cancellations of one order queue here.
"""

from contextlib import suppress
from datetime import date
from decimal import Decimal
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Company, User
from accounts.services import record
from billing import ledger, orders, told
from billing.gateways.base import Notice, PaymentState
from billing.models import Order, Payment

Problem = Payment.Problem
CREDITED = {"", Problem.LATE}


@transaction.atomic
def receive(gateway: str, notice: Notice) -> Payment | None:
    """Apply a verified notice. Repeated, late or out of order, it does its work once."""
    order = _locked(_named(gateway, notice))
    if notice.state is PaymentState.CANCELED:
        if order is not None and order.payment_id == notice.payment_id:
            Order.objects.filter(pk=order.pk).end(Order.State.CANCELED)
        return None
    problem = _judge(order, notice)
    payment, is_new = Payment.objects.get_or_create(
        gateway=gateway,
        payment_id=notice.payment_id,
        defaults={
            "order": order,
            "amount": notice.amount,
            "currency": notice.currency,
            "problem": problem,
            "is_credited": problem in CREDITED,
        },
    )
    if is_new and order is not None and payment.is_credited:
        _credit(order)
    return payment


@transaction.atomic
def confirm(
    *,
    order: Order,
    amount: Decimal,
    paid_on: date,
    reference: str,
    user: User,
    ip: str | None = None,
) -> bool:
    """The operator saw the transfer. False when the order was paid already: nothing is changed."""
    order = _lock(order.pk)
    if order.state == Order.State.PAID:
        return False
    if amount != order.amount:
        raise ValidationError(
            _("The invoice is for %(amount)s %(currency)s."),
            code="amount",
            params={"amount": order.amount, "currency": order.currency},
        )
    Payment.objects.create(
        gateway=order.gateway,
        payment_id=_transfer_id(order.company, paid_on, reference),
        order=order,
        amount=amount,
        currency=order.currency,
        is_credited=True,
        reference=reference,
        paid_on=paid_on,
        confirmed_by=user,
    )
    record("order.confirmed", orders.summary(order), company=order.company, user=user, ip=ip)
    _credit(order)
    return True


@transaction.atomic
def accept(*, payment: Payment, user: User, ip: str | None = None) -> bool:
    """The operator credits an order by a payment that did not fit. False when that is over."""
    if payment.order_id is None:
        return False
    order = _lock(payment.order_id)
    payment.refresh_from_db(from_queryset=Payment.objects.select_for_update())
    if order.state == Order.State.PAID or payment.settled_at is not None:
        return False
    payment.is_credited = True
    payment.save(update_fields=["is_credited"])
    payment.mark_settled(user)
    record("payment.accepted", payment, company=order.company, user=user, ip=ip)
    _credit(order)
    return True


@transaction.atomic
def settle(*, payment: Payment, user: User, ip: str | None = None) -> bool:
    """The operator has dealt with it: money returned, say. False when somebody had already."""
    payment.refresh_from_db(from_queryset=Payment.objects.select_for_update())
    if payment.settled_at is not None or not payment.problem:
        return False
    payment.mark_settled(user)
    company = payment.order.company if payment.order else None
    record("payment.settled", payment, company=company, user=user, ip=ip)
    return True


def _credit(order: Order) -> None:
    order.mark_paid()
    told.of_payment(order)
    ledger.top_up(  # the wallet is locked last
        company=order.company, amount=order.tokens, key=order.transfer_key, reason=str(order)
    )


def _named(gateway: str, notice: Notice) -> Order | None:
    named = Q(payment_id=notice.payment_id) if notice.payment_id else Q(pk=None)
    with suppress(ValueError):  # it may name an order in words of its own
        named |= Q(pk=UUID(hex=notice.order_id))
    return Order.objects.filter(named, gateway=gateway).first()


def _locked(order: Order | None) -> Order | None:
    return _lock(order.pk) if order else None


def _lock(pk: UUID) -> Order:
    rows = Order.objects.select_related("company").select_for_update(of=("self",), no_key=True)
    return rows.get(pk=pk)


def _judge(order: Order | None, notice: Notice) -> str:
    if order is None:
        return Problem.UNKNOWN_ORDER
    if order.state == Order.State.PAID:
        return Problem.SECOND
    if notice.currency != order.currency:
        return Problem.WRONG_CURRENCY
    if notice.amount != order.amount:
        return Problem.WRONG_AMOUNT
    return "" if order.is_open else Problem.LATE


def _transfer_id(company: Company, paid_on: date, reference: str) -> str:
    """A payer numbers its transfers anew each day or year, so the number alone names none."""
    name = f"{company.pk}:{paid_on:%Y-%m-%d}:{reference}"
    used = Payment.objects.filter(payment_id=name).select_related("order").first()
    if used is not None:
        raise ValidationError(
            _("This transfer has paid invoice %(number)s already."),
            code="used",
            params={"number": used.order},
        )
    return name
