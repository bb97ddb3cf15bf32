"""The interface of payment gateways: open a payment for an order, parse the provider's webhooks.

A provider that signs its webhooks (Stripe) is verified by the signature over the raw bytes; one
that does not (YooKassa) by the caller's address and by asking the provider for the payment:
`parse_webhook` gets headers, bytes and address, and may call out.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class PaymentRequest:
    """A payment to open. `order_id` comes back in webhooks and makes `open` idempotent."""

    order_id: str
    amount: Decimal
    currency: str
    title: str
    return_url: str
    email: str = ""


@dataclass(frozen=True, slots=True)
class PaymentSession:
    """Where to pay, and the provider's payment id (empty if there is none, as for invoices)."""

    payment_url: str
    payment_id: str = ""


class PaymentState(Enum):
    PAID = "paid"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class PaymentEvent:
    """A verified webhook about a payment."""

    payment_id: str
    order_id: str  # ours; empty if the provider names none
    amount: Decimal
    currency: str
    state: PaymentState


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    headers: Mapping[str, str]
    body: bytes
    ip: str


class GatewayError(Exception):
    """The provider could not be reached; the order stays and a retry is safe."""


class InvalidWebhookError(Exception):
    """The webhook is not from the provider, or malformed."""


class Gateway(ABC):
    name: ClassVar[str]
    lifetime: ClassVar[timedelta]  # how long an order waits for its payment
    has_invoice: ClassVar[bool] = False  # paid by a numbered document, confirmed by the operator

    @abstractmethod
    def open(self, payment: PaymentRequest) -> PaymentSession:
        """Opens a payment with the provider; idempotent per order."""

    def parse_webhook(self, webhook: WebhookRequest) -> PaymentEvent | None:
        """Verifies, then translates; None for irrelevant events. Raises InvalidWebhookError."""
        raise InvalidWebhookError
