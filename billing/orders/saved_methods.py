"""Payment methods that a first payment saves, and what a company agrees to with them."""

from typing import Any

import structlog
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit import record
from accounts.jobs import Job
from accounts.models import Company, User
from billing.gateways import registry
from billing.gateways.base import GatewayError, PaymentMethod
from billing.models import AutoTopUp, MethodSaving, Order, SavedMethod

log = structlog.get_logger(__name__)
JOB = Job("saved_methods", _("payment methods to be saved"))


def keep() -> int:
    """Keeps the methods that paid orders saved; returns how many."""
    rows = MethodSaving.objects.select_related("order__company").order_by("pk")
    ended = (Order.State.CANCELED, Order.State.EXPIRED)
    rows.filter(order__state__in=ended, order__payments=None).delete()
    return sum(JOB.each(rows.filter(order__state=Order.State.PAID), _keep))


def _keep(saving: MethodSaving) -> bool:
    order = saving.order
    gateway = registry.find(order.gateway)
    if gateway is None or not gateway.saves_methods:
        saving.delete()
        return False
    try:
        method = gateway.method_of(order.payment_id)
    except GatewayError as error:
        log.warning("method_not_read", order=order.public_id, error=str(error))
        return False
    return _store(saving, method)


@transaction.atomic
def _store(saving: MethodSaving, method: PaymentMethod | None) -> bool:
    """The row is the lock: one worker stores it, and only while it is still wanted."""
    if not MethodSaving.objects.filter(pk=saving.pk).delete()[0] or method is None:
        return False
    order = saving.order
    SavedMethod.objects.update_or_create(
        company=order.company,
        defaults={
            "gateway": order.gateway,
            "method_id": method.method_id,
            "customer_id": method.customer_id,
            "brand": method.brand,
            "last4": method.last4,
            "saved_at": timezone.now(),
        },
    )
    saved = SavedMethod.objects.get(company=order.company)
    record("method.saved", saved, company=order.company, user=order.created_by)
    return True


@transaction.atomic
def remove(*, company: Company, user: User | None, ip: str | None = None) -> bool:
    """Removes the method and turns off what charged it; a call under way is not called back."""
    setting = AutoTopUp.objects.select_for_update(of=("self",)).filter(company=company).first()
    saved = SavedMethod.objects.select_for_update().filter(company=company).first()
    MethodSaving.objects.filter(order__company=company).delete()  # one on its way is not wanted
    if saved is None:
        return False
    _end_uncharged(company, gateway=saved.gateway)
    saved.delete()
    if setting is not None and setting.is_on and setting.gateway == saved.gateway:
        _turn_off(setting)
    record("method.removed", saved, company=company, user=user, ip=ip)
    return True


@transaction.atomic
def agree(
    *, company: Company, user: User, terms: dict[str, Any], ip: str | None = None
) -> AutoTopUp:
    """Turns automatic top-ups on by these terms, or resumes them by new ones."""
    now = timezone.now()
    fields = {
        **terms,
        "is_on": True,
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
    """Resumes by the same terms; False if nothing is paused, or the terms have to be new ones."""
    rows = AutoTopUp.objects.filter(company=company, is_on=True).exclude(paused_at=None)
    rows = rows.exclude(paused_for=AutoTopUp.Pause.CURRENCY)
    if not rows.update(paused_at=None, paused_for="", resumed_at=timezone.now()):
        return False
    record("auto_top_up.resumed", company, company=company, user=user, ip=ip)
    return True


@transaction.atomic
def turn_off(*, company: Company, user: User | None, ip: str | None = None) -> bool:
    rows = AutoTopUp.objects.select_for_update(of=("self",)).filter(company=company, is_on=True)
    setting = rows.first()
    if setting is None:
        return False
    _turn_off(setting)
    record("auto_top_up.off", company, company=company, user=user, ip=ip)
    return True


def _end_uncharged(company: Company, **of: str) -> None:
    """What no provider has confirmed is not tried again. If it was charged all the same, the
    provider's notice credits it.
    """
    rows = Order.objects.of(company).filter(automatic__isnull=False, state=Order.State.CREATED)
    rows.filter(**of).end(Order.State.CANCELED)


def _turn_off(setting: AutoTopUp) -> None:
    _end_uncharged(setting.company)
    setting.is_on, setting.paused_at, setting.paused_for = False, None, ""
    setting.save(update_fields=["is_on", "paused_at", "paused_for"])


def _summary(setting: AutoTopUp) -> str:
    what = setting.package.code if setting.package else str(setting.tokens)
    return (
        f"< {setting.threshold} → {what}, {setting.gateway}, ≤ {setting.times_a_day}/24 h, "
        f"≤ {setting.sum_a_month} {setting.currency}/30 d"
    )
