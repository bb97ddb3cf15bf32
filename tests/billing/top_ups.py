"""Places top-up orders and posts payment webhooks, as clients and gateways do."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from django.test import Client

from accounts.models import Company
from billing.gateways import registry
from billing.gateways.base import Gateway, PaymentEvent, PaymentState
from billing.gateways.sandbox import SIGNATURE, Sandbox, webhook_body
from billing.models import BillingProfile, Order
from billing.orders import orders
from billing.orders.prices import Quote

HOOK = "/hooks/sandbox-gateway"


def gateway(name: str) -> Gateway:
    result = registry.find(name)
    assert result is not None
    return result


def fill_billing_details(company: Company) -> None:
    """The billing details without which no invoice is issued, unless it has some."""
    known = {"legal_name": company.name, "inn": "7800000002", "kpp": "780001001"}
    BillingProfile.objects.get_or_create(company=company, defaults=known)


def place_order(company: Company, way: str = "sandbox", tokens: int = 1000, **fields: Any) -> Order:
    quote = Quote(tokens, Decimal("1900.00"), "RUB")
    if way == "invoice":
        fill_billing_details(company)
    return orders.place(company=company, quote=quote, gateway=gateway(way), **fields)


def payment_event(order: Order, **changes: Any) -> PaymentEvent:
    """Returns a payment of the order in full, with these fields changed."""
    paid = PaymentState.PAID
    event = PaymentEvent(order.payment_id, order.id.hex, order.amount, order.currency, paid)
    return replace(event, **changes)


def post_webhook(body: PaymentEvent | bytes, signature: str | None = None) -> int:
    """Returns the status our webhook endpoint answers."""
    raw = webhook_body(body) if isinstance(body, PaymentEvent) else body
    sandbox = Sandbox(public_url="")
    signed = sandbox.sign(raw) if signature is None else signature
    response = Client().post(
        HOOK, raw, content_type="application/json", headers={SIGNATURE: signed}
    )
    return response.status_code
