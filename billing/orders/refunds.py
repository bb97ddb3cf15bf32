"""Refunds and disputes: their tokens are taken back once, as far as they are not spent.

The order's row is the lock, as for payments; the wallet is locked last.
"""

from decimal import Decimal

from django.db import transaction
from django.db.models import Q, Sum
from django.utils import timezone

from accounts.audit import record
from accounts.models import Company, User
from billing.gateways.base import RefundEvent
from billing.models import Order, Payment, Refund
from billing.wallet import ledger
from storage import advisory_locks


@transaction.atomic
def apply_event(gateway: str, event: RefundEvent) -> Refund | None:
    """Stores and applies a refund or its reversal, once.

    A refund of an unknown payment waits for the payment.
    """
    lock_gateway(gateway)
    payment = _find_payment(gateway, event.payment_id)
    if payment is not None:
        _lock(payment)
    refund, is_new = Refund.objects.get_or_create(
        gateway=gateway,
        refund_id=event.refund_id,
        defaults={
            "payment_reference": event.payment_id,
            "payment": payment,
            "amount": event.amount,
            "currency": event.currency,
            # The reversal may come first: it then prevents the refund from taking tokens.
            "returned_at": timezone.now() if event.is_returned else None,
        },
    )
    if event.is_returned:
        return refund if is_new else _return(gateway, event)
    if is_new and payment is not None:
        _take(refund, payment)
    return refund


@transaction.atomic
def close(*, refund: Refund, user: User, note: str, ip: str | None = None) -> bool:
    """Marks a waiting refund as handled; False if it was handled already."""
    waiting = Refund.objects.filter(pk=refund.pk, settled_at=None)
    if not waiting.update(settled_at=timezone.now(), note=note):
        return False
    company = refund.payment.order.company if refund.payment and refund.payment.order else None
    record("refund.settled", f"{refund}: {note}", company=company, user=user, ip=ip)
    return True


def lock_gateway(gateway: str) -> None:
    """Serialises a provider's webhooks, so that a payment and its refund cannot miss each other."""
    advisory_locks.lock(f"gateway:{gateway}")


def apply_waiting(payment: Payment) -> None:
    """Applies refunds that arrived before their payment, in the transaction that credits it."""
    names = [name for name in (payment.payment_id, payment.reference) if name]
    is_early = Q(gateway=payment.gateway, payment_reference__in=names, payment=None)
    waiting = Refund.objects.select_for_update().filter(
        is_early | Q(payment=payment, tokens=0), returned_at=None
    )
    for refund in waiting.order_by("pk"):
        _take(refund, payment)


def _find_payment(gateway: str, payment_id: str) -> Payment | None:
    is_named = Q(payment_id=payment_id) | Q(reference=payment_id)
    return Payment.objects.filter(is_named, gateway=gateway).first() if payment_id else None


def _lock(payment: Payment) -> None:
    if payment.order_id:
        Order.objects.select_for_update(no_key=True).get(pk=payment.order_id)


def _take(refund: Refund, payment: Payment) -> None:
    """Takes the share of the tokens that the money bought; all refunds together never take more."""
    order = payment.order
    refund.payment = payment
    refunded = _refunded_before(payment, refund) + refund.amount
    refund.problem = _problem(refund, payment, refunded)
    is_money_of_it = refund.problem != Refund.Problem.OTHER_CURRENCY
    if order is not None and payment.is_credited and is_money_of_it:
        refund.tokens = max(0, _tokens(order, payment, refunded) - _refunded_tokens(payment))
        refund.taken = ledger.take_back(
            company=order.company,
            amount=refund.tokens,
            key=refund.transfer_key,
            reason=f"{order}: {refund.refund_id}",
        )
    refund.save(update_fields=["payment", "tokens", "taken", "problem"])


def _problem(refund: Refund, payment: Payment, refunded: Decimal) -> str:
    if refund.currency != payment.currency:
        return Refund.Problem.OTHER_CURRENCY
    return Refund.Problem.MORE if refunded > payment.amount else ""


def _refunded_before(payment: Payment, refund: Refund) -> Decimal:
    """The sum of the payment's earlier refunds in its own currency.

    Later ones that wait with this one take their own share, and give it back if they fail.
    """
    refunds = payment.refunds.filter(returned_at=None, currency=payment.currency)
    return refunds.filter(pk__lt=refund.pk).aggregate(sum=Sum("amount"))["sum"] or Decimal(0)


def _refunded_tokens(payment: Payment) -> int:
    """Tokens that the payment's other refunds took or are owed."""
    tokens = payment.refunds.filter(returned_at=None).aggregate(sum=Sum("tokens"))["sum"]
    return int(tokens or 0)


def _tokens(order: Order, payment: Payment, amount: Decimal) -> int:
    """The tokens that a refund of this amount takes: the order's, by its share of the paid sum.

    The paid sum counts, not the price: the operator may have accepted another amount.
    """
    return int(order.tokens * min(amount, payment.amount) / payment.amount)


def _return(gateway: str, event: RefundEvent) -> Refund | None:
    """Gives back the tokens of a won dispute."""
    disputed = Refund.objects.select_for_update(of=("self",)).filter(
        gateway=gateway, refund_id=event.refund_id, returned_at=None
    )
    refund = disputed.select_related("payment__order__company").first()
    if refund is None:
        return None
    refund.returned_at = timezone.now()
    if refund.settled_at and refund.owed:  # the operator may have deducted the rest
        refund.settled_at = None
        refund.problem = Refund.Problem.WON
    refund.save(update_fields=["returned_at", "settled_at", "problem"])
    payment = refund.payment
    if payment is None or payment.order is None:
        return refund
    if tokens := refund.taken - _pass_on(refund.taken, payment, payment.order):
        _give_back(refund, payment.order.company, tokens)
    return refund


def _pass_on(amount_taken: int, payment: Payment, order: Order) -> int:
    """Shares the tokens among the refunds left; returns how many of those returned they keep.

    A refund that lacked tokens takes some of those returned. One that the rounding of the returned
    refund had given a token too many gives it back, so the result may be below zero.
    """
    refunded = Decimal(0)
    shared = 0
    passed = 0
    refunds = payment.refunds.filter(returned_at=None, currency=payment.currency)
    for other in refunds.order_by("pk") if payment.is_credited else ():
        refunded += other.amount
        share = _tokens(order, payment, refunded) - shared
        shared += share
        lacking = max(0, share - other.tokens)
        taken = min(share, other.taken + min(lacking, amount_taken - passed))
        if share - taken > other.owed:
            other.settled_at = None  # now owed for spent tokens
        passed += taken - other.taken
        other.tokens = share
        other.taken = taken
        other.problem = _problem(other, payment, refunded)
        other.save(update_fields=["tokens", "taken", "problem", "settled_at"])
    return passed


def _give_back(refund: Refund, company: Company, tokens: int) -> None:
    ledger.grant(
        company=company,
        amount=tokens,
        reason=f"{refund.refund_id}",
        key=f"{refund.transfer_key}:returned",
    )
