"""The interface of payment gateways: open a payment for an order, parse the provider's webhooks.

A provider that signs its webhooks (Stripe) is verified by the signature over the raw bytes. One
that does not (YooKassa, T-Bank) is verified by the caller's address or a secret, and by asking the
provider for the payment: `parse_webhook` gets headers, bytes and address, and may call the
provider.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from typing import ClassVar

from parsing.characters import is_line

# Lengths of ids and currencies. A webhook that no column can store is refused, signed or not.
_ID = re.compile(r"[!-~]{1,120}")
_CURRENCY = re.compile(r"[A-Z]{3}")
MAX_AMOUNT = Decimal(10) ** 12  # more than our columns of money hold
MAX_URL_LENGTH = 2000
CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Buyer:
    """The payer on receipts; `is_person`: without a tax number of an organisation."""

    email: str = ""
    is_person: bool = False


@dataclass(frozen=True, slots=True)
class PaymentRequest:
    """A payment to open. `order_id` comes back in webhooks and makes `open` idempotent."""

    order_id: str
    amount: Decimal
    currency: str
    title: str
    return_url: str
    buyer: Buyer = Buyer()
    # Per cent, included in the amount; None: the seller pays no VAT.
    vat_rate: Decimal | None = None
    saves_method: bool = False  # keep the method, to charge it without the payer


@dataclass(frozen=True, slots=True)
class SavedPaymentMethod:
    """The saved method for charges without the payer; brand and digits are for display."""

    method_id: str
    customer_id: str = ""
    brand: str = ""
    last4: str = ""

    def __post_init__(self) -> None:
        check_id(self.method_id)
        if self.customer_id:
            check_id(self.customer_id)
        check_text(self.brand + self.last4)


@dataclass(frozen=True, slots=True)
class PaymentSession:
    """The address of the payment page, and the provider's payment id, which invoices lack."""

    payment_url: str
    payment_id: str = ""

    def __post_init__(self) -> None:
        check_text(self.payment_url, MAX_URL_LENGTH)
        if self.payment_id:
            check_id(self.payment_id)


class PaymentState(Enum):
    PAID = "paid"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class PaymentEvent:
    """A verified webhook about a payment."""

    payment_id: str
    order_id: str  # our order's id; empty if the provider does not send it
    amount: Decimal
    currency: str
    state: PaymentState
    reference: str = ""  # the provider's second id of it, which refunds refer to

    def __post_init__(self) -> None:
        """Raises ValueError for a malformed event, such as a paid one without an amount: it would
        hide the real payment of this id.
        """
        check_id(self.payment_id)
        check_text(self.reference)
        if self.state is PaymentState.PAID:
            check_money(self.amount, self.currency)


@dataclass(frozen=True, slots=True)
class Charge:
    """A charge that the provider accepted; `event` is None while it is open."""

    payment_id: str
    event: PaymentEvent | None = None


@dataclass(frozen=True, slots=True)
class RefundEvent:
    """A verified webhook about money that was returned to the payer, or taken by a dispute."""

    refund_id: str
    payment_id: str  # or the `reference` of the payment
    amount: Decimal
    currency: str
    is_returned: bool = False  # the dispute was won: the money is ours again

    def __post_init__(self) -> None:
        """Raises ValueError for a malformed event, such as one without an amount: it would hide the
        real refund of this id.
        """
        check_id(self.refund_id)
        if self.payment_id:
            check_id(self.payment_id)
        check_money(self.amount, self.currency)


@dataclass(frozen=True, slots=True)
class StatementEvent:
    """A verified webhook about new operations on this account's statement."""

    account: str


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    headers: Mapping[str, str]
    body: bytes
    ip: str


def check_id(text: str) -> str:
    """Checks that a provider's id is printable ASCII: ids are used in API addresses and our
    columns.
    """
    if not _ID.fullmatch(text):
        raise ValueError("not an id")
    return text


def check_text(text: str, max_length: int = 120) -> None:
    if len(text) > max_length or not is_line(text):
        raise ValueError("not a line of text")


def check_money(amount: Decimal, currency: str) -> None:
    """Checks an amount of money: above zero, in whole cents, in a currency."""
    if not (amount.is_finite() and 0 < amount < MAX_AMOUNT and amount == amount.quantize(CENT)):
        raise ValueError("not an amount")
    if not _CURRENCY.fullmatch(currency):
        raise ValueError("not a currency")


class GatewayError(Exception):
    """The provider could not be reached; the order stays and a retry is safe."""


class DeclinedError(GatewayError):
    """The charge was refused for good: nothing was taken, and a repeat is refused as well."""


class InvalidWebhookError(Exception):
    """The webhook is not from the provider, or malformed."""


class Gateway(ABC):
    name: ClassVar[str]
    lifetime: ClassVar[timedelta]  # how long an order waits for its payment
    has_invoice: ClassVar[bool] = False  # paid by a numbered document, confirmed by the operator
    currencies: ClassVar[frozenset[str]] = frozenset()  # currencies that it takes; empty: any
    is_pollable: ClassVar[bool] = False  # `poll` can read the state of a payment

    saves_methods: ClassVar[bool] = False  # supports `charge`

    @abstractmethod
    def open(self, payment: PaymentRequest) -> PaymentSession:
        """Opens a payment with the provider; idempotent per order."""

    def takes(self, currency: str, amount: Decimal | None = None) -> bool:
        """Whether the provider takes this currency, and this amount of it."""
        return not self.currencies or currency in self.currencies

    def poll(self, payment_id: str) -> PaymentEvent | None:
        """Asks the provider about a payment: None while it is open. Raises GatewayError."""
        raise NotImplementedError

    def method_of(self, payment_id: str) -> SavedPaymentMethod | None:
        """The method that this paid payment saved, if any. Raises GatewayError."""
        raise NotImplementedError

    def charge(self, method: SavedPaymentMethod, payment: PaymentRequest) -> Charge:
        """Charges a saved method; idempotent per order. Raises DeclinedError, or a GatewayError if
        the outcome is unknown.
        """
        raise NotImplementedError

    def check_credentials(self) -> None:  # noqa: B027 - most have none
        """Raises a GatewayError with the reason why the credentials cannot be used."""

    def parse_webhook(
        self, webhook: WebhookRequest
    ) -> PaymentEvent | RefundEvent | StatementEvent | None:
        """Verifies, then translates; None for irrelevant events. Raises InvalidWebhookError."""
        raise InvalidWebhookError
