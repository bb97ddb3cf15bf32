"""Stores the payment methods that companies' first payments saved, for automatic top-ups."""

from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit import record
from accounts.jobs import Job
from billing.gateways import registry
from billing.gateways.base import SavedPaymentMethod
from billing.models import AutoTopUp, MethodSaving, Order, SavedMethod
from billing.orders.auto_top_up import FAILED, Pause, pause

SAVINGS = Job("saved_methods", _("payment methods to be saved"))
LATE = timedelta(days=14)  # bank debits are paid days after their orders have expired


def save_next_method(gateway: str) -> bool:
    """Stores a method that a paid order saved; False if there is none, or it cannot be read."""
    rows = MethodSaving.objects.select_related("order__company").order_by("pk")
    rows = rows.filter(order__gateway=gateway)
    failed = rows.filter(order__state__in=FAILED, order__payments=None)
    late = timezone.now() - LATE
    failed.exclude(order__state=Order.State.EXPIRED, order__expires_at__gt=late).delete()
    waiting = [UUID(name) for name in SAVINGS.waiting()]
    paid = rows.filter(order__state=Order.State.PAID).exclude(pk__in=waiting)
    return bool(SAVINGS.each(paid[:1], _save_method))


def _save_method(saving: MethodSaving) -> None:
    gateway = registry.find(saving.order.gateway)
    if gateway is None or not gateway.saves_methods:
        saving.delete()
    else:
        _store(saving, gateway.method_of(saving.order.payment_id))


@transaction.atomic
def _store(saving: MethodSaving, method: SavedPaymentMethod | None) -> None:
    """Stores the method, under the lock of `saving`: once, and only while it is still wanted."""
    order = saving.order
    rows = AutoTopUp.objects.select_for_update(of=("self",), no_key=True)
    setting = rows.filter(company=order.company, gateway=order.gateway).first()
    if not MethodSaving.objects.filter(pk=saving.pk).delete()[0]:
        return
    if method is None:
        _pause_without_method(setting)
        return
    saved, _is_new = SavedMethod.objects.update_or_create(
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
    record("method.saved", saved, company=order.company, user=order.created_by)


def _pause_without_method(setting: AutoTopUp | None) -> None:
    """Tells the owners that the payment saved nothing, unless an earlier one did."""
    if setting is None or not setting.is_enabled or setting.paused_at is not None:
        return
    if not SavedMethod.objects.filter(company=setting.company, gateway=setting.gateway).exists():
        pause(setting, Pause.NOT_SAVED)
