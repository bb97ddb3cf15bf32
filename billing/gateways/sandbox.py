"""A payment provider played: its page is ours, its money is none, its notifications are signed."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from billing.gateways.base import (
    Gateway,
    InvalidWebhookError,
    PaymentEvent,
    PaymentRequest,
    PaymentSession,
    WebhookRequest,
)
from billing.gateways.base import PaymentState as State

SIGNATURE = "Sandbox-Signature"


class Sandbox(Gateway):
    name = "sandbox"
    lifetime = timedelta(hours=1)

    def __init__(self, *, public_url: str, secret: str) -> None:
        self.public_url = public_url
        self.key = hashlib.sha256(b"sandbox gateway:" + secret.encode()).digest()

    def open(self, due: PaymentRequest) -> PaymentSession:
        payment_id = f"sandbox-{due.order_id}"
        return PaymentSession(f"{self.public_url}/sandbox-gateway/{payment_id}", payment_id)

    def notice(self, inbound: WebhookRequest) -> PaymentEvent | None:
        given = inbound.headers.get(SIGNATURE, "").encode()
        if not hmac.compare_digest(given, self.sign(inbound.body).encode()):
            raise InvalidWebhookError
        return _parse(inbound.body)

    def sign(self, body: bytes) -> str:
        return hmac.new(self.key, body, hashlib.sha256).hexdigest()


def webhook_body(notice: PaymentEvent) -> bytes:
    """A notification as this provider sends it."""
    return json.dumps(
        {
            "payment": notice.payment_id,
            "order": notice.order_id,
            "amount": str(notice.amount),
            "currency": notice.currency,
            "state": notice.state.value,
        }
    ).encode()


def _parse(body: bytes) -> PaymentEvent:
    try:
        told: Mapping[str, Any] = json.loads(body)
        return PaymentEvent(
            payment_id=str(told["payment"]),
            order_id=str(told["order"]),
            amount=Decimal(told["amount"]),
            currency=str(told["currency"]),
            state=State(told["state"]),
        )
    except (ValueError, TypeError, KeyError, InvalidOperation):
        raise InvalidWebhookError from None
