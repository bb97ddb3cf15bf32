"""Buys tokens automatically for companies that asked for it: at most once each time it is due.

The settings' row is the lock under which an order is written, and the order has its own key before
any provider is called. A charge with an unknown outcome is repeated with the order's key, to which
the provider gives the first response. After its last hour the order ends, and somebody has to
check. Late money is still credited.
"""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import structlog
from django.db import transaction
from django.db.models import F, Q, Sum
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit import record
from accounts.jobs import Job
from accounts.models import Company, User
from billing import notifications
from billing.gateways import registry
from billing.gateways.base import DeclinedError, Gateway, GatewayError, SavedPaymentMethod
from billing.models import (
    AutomaticOrder,
    AutoTopUp,
    BillingProfile,
    MethodSaving,
    Order,
    Refund,
    SavedMethod,
)
from billing.orders import orders, payments, prices
from billing.orders.prices import Quote
from billing.wallet import ledger
from catalogue.errors import DomainError

log = structlog.get_logger(__name__)
DUE = Job("auto_top_up", _("automatic top-ups"))
PAID = Job("auto_top_up_payment", _("payments of automatic top-ups"))
Pause = AutoTopUp.Pause
FAILED = (Order.State.CANCELED, Order.State.EXPIRED)
RETRY_SECONDS = 60
# Providers keep idempotency keys for a day.
LAST_TRY = timedelta(hours=20)


def write_due() -> int:
    """Writes due orders; returns their number."""
    written = DUE.each(_due(), _write_if_due)
    return sum(order is not None for order in written)


def _due() -> list[int]:
    active = AutoTopUp.objects.filter(is_enabled=True, paused_at=None)
    is_below = Q(company__wallet__available__lt=F("threshold")) | Q(company__wallet=None)
    below = active.filter(is_below, company__deleted_at=None, company__closes_at=None)
    below = below.exclude(company__status=Company.Status.SUSPENDED)
    return list(below.order_by("company_id").values_list("company_id", flat=True))


@transaction.atomic
def _write_if_due(company_id: int) -> Order | None:
    """Writes an order if due. One worker at a time locks the company; others skip it."""
    companies = Company.objects.select_for_update(no_key=True, skip_locked=True)
    if companies.filter(pk=company_id).first() is None:
        return None
    rows = AutoTopUp.objects.select_for_update(of=("self",), skip_locked=True, no_key=True)
    setting = rows.filter(company=company_id, is_enabled=True, paused_at=None).first()
    if setting is None:
        return None
    placed = Order.objects.filter(company=company_id, automatic__isnull=False)
    # In this order: the balance read next includes the tokens of orders just closed.
    if placed.open().exists() or _available(company_id) >= setting.threshold:
        return None
    if failed := placed.filter(created_at__gte=setting.resumed_at, state__in=FAILED).last():
        pause(setting, _reason(failed))
        return None
    if _is_refunded(setting):
        pause(setting, Pause.REFUNDED)
        return None
    return _write(setting)


def _is_refunded(setting: AutoTopUp) -> bool:
    """Whether money came back: card schemes forbid another charge after a chargeback."""
    gateway = registry.find(setting.gateway)
    by_card = Q(gateway=setting.gateway) if gateway and gateway.saves_methods else Q()
    return Refund.objects.filter(
        by_card | Q(payment__order__automatic__isnull=False),
        payment__order__company=setting.company_id,
        returned_at=None,
        created_at__gte=setting.resumed_at,
    ).exists()


def _reason(failed: Order) -> AutoTopUp.Pause:
    is_declined = failed.state == Order.State.CANCELED and not failed.invoice_number
    return Pause.DECLINED if is_declined else Pause.UNPAID


def _available(company_id: int) -> int:
    return ledger.balance(company_id).available


def _write(setting: AutoTopUp) -> Order | None:
    gateway = registry.find(setting.gateway)
    quote = quote_of(setting)
    if obstacle := _obstacle(setting, gateway, quote):
        pause(setting, obstacle)
    if obstacle or gateway is None or quote is None:
        return None
    method = method_for(setting.company_id, gateway)
    if gateway.saves_methods and method is None:
        return None  # its first payment is still outstanding
    today = timezone.localdate()
    number = 1 + AutomaticOrder.objects.filter(company=setting.company_id, day=today).count()
    spent = spent_this_month(setting.company_id, setting.currency)
    if number > setting.max_orders_per_day or spent + quote.amount > setting.max_amount_per_month:
        return None
    return _place(setting, gateway, quote, method, number)


def _obstacle(
    setting: AutoTopUp, gateway: Gateway | None, quote: Quote | None
) -> AutoTopUp.Pause | None:
    """The reason to pause: a fault that only a person can fix. None if there is none."""
    if gateway is None:
        return Pause.NO_GATEWAY
    if quote is None or not gateway.takes(quote.currency, quote.amount):
        return Pause.NO_PRICE
    if quote.currency != setting.currency:
        return Pause.CURRENCY
    if quote.amount > setting.max_amount_per_month:
        return Pause.PRICE
    if gateway.has_invoice and BillingProfile.for_company(setting.company).missing:
        return Pause.BILLING_DETAILS
    return None


def _place(
    terms: AutoTopUp, gateway: Gateway, quote: Quote, method: SavedPaymentMethod | None, number: int
) -> Order:
    order = orders.new_order(terms.company, quote, gateway)
    if method is not None:
        order.expires_at = min(order.expires_at, timezone.now() + LAST_TRY)
    orders.insert(order, gateway)
    AutomaticOrder.objects.create(
        order=order,
        company=terms.company,
        day=timezone.localdate(),
        number=number,
        method_id=method.method_id if method else "",
        customer_id=method.customer_id if method else "",
    )
    if gateway.has_invoice:
        notifications.notify_automatic_invoice(order, url=order.payment_page)
    return order


def quote_of(setting: AutoTopUp) -> Quote | None:
    """The quote at today's price; None if it is no longer on sale."""
    if setting.package is not None:
        return prices.quote_package(setting.package.code)
    currency = prices.currency_of(BillingProfile.for_company(setting.company))
    return prices.quote_tokens(setting.tokens, currency) if setting.tokens else None


def method_for(company_id: int, gateway: Gateway) -> SavedPaymentMethod | None:
    saved = SavedMethod.objects.filter(company=company_id, gateway=gateway.name).first()
    if saved is None:
        return None
    return SavedPaymentMethod(saved.method_id, saved.customer_id, saved.brand, saved.last4)


def spent_this_month(company_id: int, currency: str) -> Decimal:
    """The sum of automatic orders in this currency that are paid, or may still be: a charge whose
    outcome is unknown counts even after its order has ended.
    """
    since = timezone.localdate().replace(day=1)
    rows = Order.objects.filter(company=company_id, currency=currency, automatic__day__gte=since)
    is_unknown = Q(payment_id="", automatic__tried_at__isnull=False) & ~Q(automatic__method_id="")
    counted = rows.filter(~Q(state__in=FAILED) | is_unknown)
    total: Decimal | None = counted.aggregate(sum=Sum("amount"))["sum"]
    return total or Decimal(0)


def pause(setting: AutoTopUp, reason: AutoTopUp.Pause) -> None:
    setting.paused_at = timezone.now()
    setting.paused_for = reason
    setting.save(update_fields=["paused_at", "paused_for"])
    notifications.notify_auto_top_up_paused(setting)


def pay_next(gateway: str) -> bool:
    """Pays the gateway's unpaid order that has waited longest for a call; False if none is due."""
    claimed = _claim_unopened(gateway)
    PAID.each(claimed, _pay)
    return bool(claimed)


@transaction.atomic
def _claim_unopened(gateway: str) -> list[Order]:
    """Claims an order whose payment is not opened yet.

    The claim commits before the provider is called, so no two workers make the same call.
    """
    claimable = AutomaticOrder.objects.select_for_update(of=("self",), skip_locked=True)
    unopened = claimable.filter(
        Q(tried_at=None) | Q(tried_at__lt=Now() - timedelta(seconds=RETRY_SECONDS)),
        order__gateway=gateway,
        order__state=Order.State.CREATED,
        order__expires_at__gt=Now(),
        order__company__closes_at=None,
    ).exclude(order__company__status=Company.Status.SUSPENDED)
    oldest_first = unopened.order_by(F("tried_at").asc(nulls_first=True), "pk")
    ids = [row.pk for row in oldest_first[:1]]
    AutomaticOrder.objects.filter(pk__in=ids).update(tried_at=Now())
    return list(Order.objects.filter(pk__in=ids).select_related("automatic", "company"))


def _pay(order: Order) -> None:
    gateway = registry.find(order.gateway)
    if gateway is None or not _is_still_wanted(order):
        return
    try:
        if gateway.saves_methods:
            _charge(order, gateway)
        else:
            orders.open_payment(order)
    except (GatewayError, DomainError) as error:
        log.warning("automatic_order_not_paid", order=order.public_id, error=str(error))


def _is_still_wanted(order: Order) -> bool:
    """Whether the order is still wanted: consent may have ended during the calls for others."""
    rows = Order.objects.filter(pk=order.pk, state=Order.State.CREATED, company__closes_at=None)
    return rows.exclude(company__status=Company.Status.SUSPENDED).exists()


def _charge(order: Order, gateway: Gateway) -> None:
    method = SavedPaymentMethod(order.automatic.method_id, order.automatic.customer_id)
    try:
        charge = gateway.charge(method, orders.payment_request(order))
    except DeclinedError as declined:
        log.info("automatic_order_declined", order=order.public_id, reason=str(declined))
        decline(order)
        return
    if charge.event is None:
        order.mark_opened(payment_id=charge.payment_id, payment_url="")
    else:
        payments.apply_event(order.gateway, charge.event)


@transaction.atomic
def decline(order: Order) -> None:
    """Ends the order and pauses automatic top-ups: the card is not tried again and again."""
    rows = AutoTopUp.objects.select_for_update(of=("self",), no_key=True)
    setting = rows.filter(company=order.company_id).first()
    AutomaticOrder.objects.filter(pk=order.pk).update(tried_at=None)  # its outcome is known
    if not Order.objects.filter(pk=order.pk).end(Order.State.CANCELED):
        return
    if setting is not None and setting.is_enabled and setting.paused_at is None:
        pause(setting, Pause.DECLINED)


def last_orders(company_id: int, count: int = 5) -> list[Order]:
    rows = Order.objects.filter(company=company_id, automatic__isnull=False)
    return list(rows.order_by("-created_at")[:count])


@transaction.atomic
def remove_method(*, company: Company, user: User | None, ip: str | None = None) -> bool:
    """Removes the method and ends automatic top-ups by it; a call in progress goes on."""
    setting = AutoTopUp.objects.select_for_update(of=("self",)).filter(company=company).first()
    # First, like in `_store`: a method being stored is found below, and a later one is not wanted.
    MethodSaving.objects.filter(order__company=company).delete()
    saved = SavedMethod.objects.select_for_update().filter(company=company).first()
    if saved is None:
        return False
    _end_uncharged(company, gateway=saved.gateway)
    saved.delete()
    if setting is not None and setting.is_enabled and setting.gateway == saved.gateway:
        _turn_off(setting)
    record("method.removed", saved, company=company, user=user, ip=ip)
    return True


@transaction.atomic
def turn_on(
    *, company: Company, user: User, terms: dict[str, Any], ip: str | None = None
) -> AutoTopUp:
    """Turns automatic top-ups on with these terms, or resumes them with new ones."""
    now = timezone.now()
    fields = {
        **terms,
        "is_enabled": True,
        "consented_by": user,
        "consented_at": now,
        "resumed_at": now,
        "paused_at": None,
        "paused_for": "",
    }
    setting, _is_new = AutoTopUp.objects.update_or_create(company=company, defaults=fields)
    record("auto_top_up.on", _summary(setting), company=company, user=user, ip=ip)
    return setting


@transaction.atomic
def resume(*, company: Company, user: User, ip: str | None = None) -> bool:
    """Resumes with the same terms; False if nothing is paused, or new terms are needed."""
    rows = AutoTopUp.objects.filter(company=company, is_enabled=True).exclude(paused_at=None)
    rows = rows.exclude(paused_for__in=AutoTopUp.NEW_TERMS)
    if not rows.update(paused_at=None, paused_for="", resumed_at=timezone.now()):
        return False
    record("auto_top_up.resumed", company, company=company, user=user, ip=ip)
    return True


@transaction.atomic
def turn_off(*, company: Company, user: User | None, ip: str | None = None) -> bool:
    rows = AutoTopUp.objects.select_for_update(of=("self",)).filter(
        company=company, is_enabled=True
    )
    setting = rows.first()
    if setting is None:
        return False
    _turn_off(setting)
    record("auto_top_up.off", company, company=company, user=user, ip=ip)
    return True


def _end_uncharged(company: Company, **filters: str) -> None:
    """Ends automatic orders whose charge no provider has confirmed; they are not tried again. If
    one was charged nevertheless, the provider's webhook credits it.
    """
    rows = Order.objects.for_company(company).filter(
        automatic__isnull=False, state=Order.State.CREATED
    )
    rows.filter(**filters).end(Order.State.CANCELED)


def _turn_off(setting: AutoTopUp) -> None:
    _end_uncharged(setting.company)
    setting.is_enabled = False
    setting.paused_at = None
    setting.paused_for = ""
    setting.save(update_fields=["is_enabled", "paused_at", "paused_for"])


def _summary(setting: AutoTopUp) -> str:
    purchase = setting.package.code if setting.package else str(setting.tokens)
    return (
        f"< {setting.threshold} → {purchase}, {setting.gateway}, ≤ {setting.max_orders_per_day}"
        f"/day, ≤ {setting.max_amount_per_month} {setting.currency}/month"
    )
