"""The page of the sandbox gateway, on which the payer chooses the outcome.

Each button sends what a real provider would: signed webhooks over HTTP to our own endpoint.
"""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import requests
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from billing.gateways import registry
from billing.gateways.base import PaymentEvent, PaymentState
from billing.gateways.sandbox import SIGNATURE, Sandbox, webhook_body
from billing.models import Order
from parsing.characters import is_line

TIMEOUT = 10  # seconds


def page(request: HttpRequest, payment_id: str) -> HttpResponse:
    gateway = registry.find(Sandbox.name)
    if not isinstance(gateway, Sandbox) or not is_line(payment_id):
        raise Http404
    orders = Order.objects.filter(gateway=Sandbox.name)
    order = get_object_or_404(orders, payment_id=payment_id)
    if request.method == "POST":
        _run_scenario(request, gateway, order, request.POST.get("outcome", ""))
        return redirect("sandbox-gateway", payment_id)
    return render(request, "sandbox_gateway.html", {"order": order, "outcomes": outcomes()})


def outcomes() -> list[tuple[str, str, str]]:
    """(value, title, description) of each button."""
    return [
        ("pay", _("Pay"), _("The money arrives, and we are notified.")),
        ("decline", _("Decline"), _("The bank refuses, the payment is cancelled.")),
        ("told_twice", _("Pay, notified twice"), _("One payment, two notifications of it.")),
        ("pay_twice", _("Pay twice"), _("Two payments for one order.")),
        ("pay_late", _("Pay late"), _("Cancelled first, then the money arrives after all.")),
        ("wrong_amount", _("Pay another amount"), _("One unit less than is due.")),
    ]


def _pay(order: Order) -> list[PaymentEvent]:
    state = PaymentState.PAID
    return [PaymentEvent(order.payment_id, order.id.hex, order.amount, order.currency, state)]


def _decline(order: Order) -> list[PaymentEvent]:
    return [replace(_pay(order)[0], state=PaymentState.CANCELED)]


def _pay_twice(order: Order) -> list[PaymentEvent]:
    return [*_pay(order), replace(_pay(order)[0], payment_id=f"{order.payment_id}-again")]


def _underpay(order: Order) -> list[PaymentEvent]:
    return [replace(_pay(order)[0], amount=order.amount - Decimal("0.01"))]


SCENARIOS: dict[str, Callable[[Order], list[PaymentEvent]]] = {
    "pay": _pay,
    "decline": _decline,
    "told_twice": lambda order: _pay(order) * 2,
    "pay_twice": _pay_twice,
    "pay_late": lambda order: _decline(order) + _pay(order),
    "wrong_amount": _underpay,
}


def _run_scenario(request: HttpRequest, gateway: Sandbox, order: Order, outcome: str) -> None:
    scenario = SCENARIOS.get(outcome)
    if scenario is None:
        raise Http404
    try:
        for event in scenario(order):
            _post_webhook(gateway, webhook_body(event))
    except requests.RequestException:
        messages.error(request, _("The notification did not arrive: is PUBLIC_URL right?"))


def _post_webhook(gateway: Sandbox, body: bytes) -> None:
    response = requests.post(
        f"{settings.PUBLIC_URL}/hooks/sandbox-gateway",
        data=body,
        headers={SIGNATURE: gateway.sign(body), "Content-Type": "application/json"},
        timeout=TIMEOUT,
    )
    response.raise_for_status()
