"""A fake payment provider: its page is ours, no money moves, its webhooks are signed."""

import hashlib
import hmac
import json
from datetime import timedelta
from decimal import Decimal, InvalidOperation

from django.conf import settings

from billing.gateways.base import (
    Charge,
    Gateway,
    InvalidWebhookError,
    PaymentEvent,
    PaymentRequest,
    PaymentSession,
    SavedPaymentMethod,
    WebhookRequest,
)
from billing.gateways.base import PaymentState as State
from parsing.json_objects import read_object

SIGNATURE = "Sandbox-Signature"


class Sandbox(Gateway):
    name = "sandbox"
    lifetime = timedelta(hours=1)
    saves_methods = True

    def __init__(self, *, public_url: str) -> None:
        self.public_url = public_url
        self.key = hashlib.sha256(b"sandbox gateway:" + settings.SECRET_KEY.encode()).digest()

    def open(self, payment: PaymentRequest) -> PaymentSession:
        payment_id = f"sandbox-{payment.order_id}"
        return PaymentSession(f"{self.public_url}/sandbox-gateway/{payment_id}", payment_id)

    def method_of(self, payment_id: str) -> SavedPaymentMethod | None:
        return SavedPaymentMethod(f"method-{payment_id}", brand="Demo", last4="4242")

    def charge(self, method: SavedPaymentMethod, payment: PaymentRequest) -> Charge:
        """Charges successfully; the payment page offers the other outcomes."""
        payment_id = f"sandbox-{payment.order_id}"
        event = PaymentEvent(
            payment_id, payment.order_id, payment.amount, payment.currency, State.PAID
        )
        return Charge(payment_id, event)

    def parse_webhook(self, webhook: WebhookRequest) -> PaymentEvent | None:
        signature = webhook.headers.get(SIGNATURE, "").encode()
        if not hmac.compare_digest(signature, self.sign(webhook.body).encode()):
            raise InvalidWebhookError
        return _parse(webhook.body)

    def sign(self, body: bytes) -> str:
        return hmac.new(self.key, body, hashlib.sha256).hexdigest()


def webhook_body(event: PaymentEvent) -> bytes:
    """Serialises an event as this provider sends it."""
    return json.dumps(
        {
            "payment": event.payment_id,
            "order": event.order_id,
            "amount": str(event.amount),
            "currency": event.currency,
            "state": event.state.value,
        }
    ).encode()


def _parse(body: bytes) -> PaymentEvent:
    try:
        data = read_object(body)
        return PaymentEvent(
            payment_id=str(data["payment"]),
            order_id=str(data["order"]),
            amount=Decimal(data["amount"]),
            currency=str(data["currency"]),
            state=State(data["state"]),
        )
    except (ValueError, TypeError, KeyError, InvalidOperation):
        raise InvalidWebhookError from None
