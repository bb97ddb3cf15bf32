"""Polling of payments whose webhook was lost, and of providers that did not open a payment."""

from contextlib import suppress
from datetime import timedelta

import structlog
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job
from billing.gateways import registry
from billing.gateways.base import GatewayError
from billing.gateways.http import RefusedByProviderError
from billing.models import Order
from billing.orders import orders, payments
from catalogue.errors import DomainError
from storage.statements import sql_files
from storage.statements.queries import fetch_column

log = structlog.get_logger(__name__)

JOB = Job("lost_notices", _("polling of payments"))
NOT_FOUND = 404  # also an answer: nobody can have paid
# A provider that is down when an order ends is polled again: the order waits, but not forever.
EXTENSION = timedelta(hours=1)
MAX_WAIT = timedelta(days=4)

_CLAIM = sql_files.read("billing/orders/polling.sql")


def poll_next(gateway: str) -> bool:
    """Polls an order of this gateway that is due; False if none is."""
    ids = fetch_column(_CLAIM, [gateway]) if gateway in registry.pollable() else []
    JOB.each(Order.objects.filter(pk__in=ids), _poll)
    return bool(ids)


def _poll(order: Order) -> None:
    gateway = registry.find(order.gateway)
    if gateway is None:
        return
    if not order.payment_id:
        with suppress(DomainError):  # logged
            orders.open_payment(order)
        return
    try:
        event = gateway.poll(order.payment_id)
    except GatewayError as error:
        log.warning("payment_not_polled", order=order.public_id, error=str(error))
        if not (isinstance(error, RefusedByProviderError) and error.status == NOT_FOUND):
            _wait_longer(order)
        return
    if event is not None:
        payments.apply_event(order.gateway, event)


def _wait_longer(order: Order) -> None:
    now = timezone.now()
    if order.created_at < now - MAX_WAIT:
        return
    overdue = Order.objects.filter(pk=order.pk, expires_at__lt=now).open()
    overdue.update(expires_at=now + EXTENSION)
