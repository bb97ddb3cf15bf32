"""The operator's decisions on a transfer under review: each takes effect once, even if repeated."""

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit import record
from accounts.models import User
from billing.bank_statements import matching
from billing.models import BankTransfer, Order
from billing.orders import payments, refunds

Direction = BankTransfer.Direction
State = BankTransfer.State


@transaction.atomic
def assign(
    *,
    transfer: BankTransfer,
    order: Order,
    user: User,
    ip: str | None = None,
    as_received: bool = False,
) -> bool:
    """Credits the order in full despite differences, or with the tokens that the sum buys.

    Returns False if the transfer was settled already.
    """
    refunds.lock_gateway(order.gateway)  # before the order, like for webhooks
    order = payments.lock(order.pk)
    if not _lock(transfer) or transfer.direction != Direction.INCOMING:
        return False
    if order.state == Order.State.PAID and not as_received:
        raise ValidationError(_("%(order)s is paid already.") % {"order": order}, code="paid")
    transfer.payment = payments.credit_bank_transfer(
        order=order,
        payment_id=transfer.payment_key,
        amount=transfer.amount,
        currency=transfer.currency,
        paid_on=transfer.booked_on,
        reference=transfer.document_number,
        user=user,
        as_received=as_received,
    )
    transfer.order = transfer.payment.order
    _settle(transfer, State.ASSIGNED, "transfer.assigned", user, ip)
    return True


@transaction.atomic
def take_back(*, transfer: BankTransfer, user: User, ip: str | None = None) -> bool:
    """Takes the tokens of the order back for money that was returned to its payer."""
    if transfer.order is None or transfer.direction != Direction.OUTGOING:
        return False
    refunds.lock_gateway(transfer.order.gateway)
    order = payments.lock(transfer.order.pk)
    if not _lock(transfer):
        return False
    paid = order.payments.filter(is_credited=True).first()
    if paid is None:
        raise ValidationError(_("%(order)s was never credited.") % {"order": order}, code="unpaid")
    transfer.payment = paid
    matching.refund(transfer, paid.payment_id)
    _settle(transfer, State.ASSIGNED, "transfer.refunded", user, ip)
    return True


@transaction.atomic
def mark_returned(*, transfer: BankTransfer, user: User, ip: str | None = None) -> bool:
    """Marks money that goes back by a payment order in the bank: nothing is credited."""
    if not _lock(transfer) or transfer.direction != Direction.INCOMING:
        return False
    _settle(transfer, State.RETURNED, "transfer.returned", user, ip)
    return True


@transaction.atomic
def dismiss(*, transfer: BankTransfer, user: User, ip: str | None = None) -> bool:
    """Marks the transfer as unrelated to top-ups."""
    if not _lock(transfer):
        return False
    _settle(transfer, State.DISMISSED, "transfer.dismissed", user, ip)
    return True


def _lock(transfer: BankTransfer) -> bool:
    """Locks the transfer; returns whether it still waits."""
    locked = BankTransfer.objects.select_for_update(of=("self",))
    transfer.refresh_from_db(from_queryset=locked)
    return transfer.state == State.REVIEW


def _settle(transfer: BankTransfer, state: str, action: str, user: User, ip: str | None) -> None:
    transfer.state = state
    transfer.settled_at = timezone.now()
    transfer.settled_by = user
    transfer.save(update_fields=["state", "settled_at", "settled_by", "order", "payment"])
    company = transfer.order.company if transfer.order else None
    subject = f"{transfer}: {transfer.party_name}" + (f" → {transfer.order}" if company else "")
    record(action, subject[:200], company=company, user=user, ip=ip)
