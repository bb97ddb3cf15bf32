"""What a way to pay must do: open a payment for an order, and read what its provider tells later.

A provider that signs its notifications (Stripe) is verified by the signature over the raw bytes;
one that does not (YooKassa) by the caller's address and by asking the provider for the payment:
`notice` has the headers, the bytes and the address, and may call out.
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
    """What is to be paid. `order_id` comes back in notices and makes a repeated `open` harmless."""

    order_id: str
    amount: Decimal
    currency: str
    title: str
    return_url: str
    email: str = ""


@dataclass(frozen=True, slots=True)
class PaymentSession:
    """Where to pay, and what the provider calls it (empty where nobody does, as for invoices)."""

    payment_url: str
    payment_id: str = ""


class PaymentState(Enum):
    PAID = "paid"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class PaymentEvent:
    """What a provider tells of a payment, verified."""

    payment_id: str
    order_id: str  # the one given to it; empty when it names none
    amount: Decimal
    currency: str
    state: PaymentState


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    headers: Mapping[str, str]
    body: bytes
    ip: str


class GatewayError(Exception):
    """The provider could not be asked; the order stays, and asking again is harmless."""


class InvalidWebhookError(Exception):
    """Not from the provider, or not in its words."""


class Gateway(ABC):
    name: ClassVar[str]
    lifetime: ClassVar[timedelta]  # how long an order waits for its payment
    has_invoice: ClassVar[bool] = False  # paid by a numbered document, confirmed by the operator

    @abstractmethod
    def open(self, due: PaymentRequest) -> PaymentSession:
        """Ask the provider for a payment; the same order twice is one payment."""

    def notice(self, inbound: WebhookRequest) -> PaymentEvent | None:
        """Verify, then translate; None for news of no interest. Raises InvalidWebhookError."""
        raise InvalidWebhookError
