"""The events from vendors: delivery receipts, people's replies, alerts about our accounts.

`InboundEvents` holds the content of one call or one PDU.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class InvalidWebhookError(Exception):
    """The webhook is not from the vendor: its signature does not match, or covers too little."""


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """A vendor's HTTP request to our webhook. `url` is the public URL, which signatures cover.
    `headers` ignore case.
    """

    url: str
    headers: Mapping[str, str]
    body: bytes
    method: str = "POST"


class ReceiptState(StrEnum):
    SENT = "sent"
    DELIVERED = "delivered"
    READ = "read"
    FAILED = "failed"
    UNREACHABLE = "unreachable"  # failed because this person cannot be reached
    BARRED = "barred"  # failed: the subscriber has the carrier bar these messages
    EXPIRED = "expired"
    NOT_FOUND = "not_found"  # polled after an ambiguous outcome: the vendor never received it


@dataclass(frozen=True, slots=True)
class Receipt:
    """A delivery receipt, matched by the vendor's id or by our `ref`."""

    provider_id: str | None
    ref: str | None
    state: ReceiptState
    vendor_status: str  # the state as the vendor calls it
    at: datetime | None = None
    error_code: str | None = None
    error_detail: str = ""
    # Other candidates for `provider_id`, from vendors whose receipts spell ids differently from
    # acceptances, and the recipient's phone, which selects the right one.
    alternatives: tuple[str, ...] = ()
    phone: str = ""  # spelled by the vendor
    needs_phone: bool = False  # a phone could have forged it: counts only for that phone


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a concatenated message, accepted by the vendor under its own id.

    Receipts then refer to parts, and the message is delivered once all parts are.
    """

    ref: str  # our attempt id
    number: int  # counted from 1
    total: int
    provider_id: str


@dataclass(frozen=True, slots=True)
class Recipient:
    """The vendor's id of a person who received our message; may be another phone number."""

    user_id: str
    ref: str  # our attempt id


MAX_SENDER = 150  # characters


@dataclass(frozen=True, slots=True)
class Reply:
    """A message that a person sent back to us."""

    phone: str  # with a plus if certainly E.164; empty if the vendor hides it
    text: str
    user_id: str = ""  # the vendor's id of the person, if any; else a sender that is not a phone
    at: datetime | None = None  # time of writing by the vendor's clock

    @property
    def sender(self) -> str:
        """The person's id at the vendor, identical in responses and receipts."""
        sender = self.user_id or self.phone.removeprefix("+")
        return "".join(filter(str.isprintable, sender))[:MAX_SENDER]


class AlertKind(StrEnum):
    REFUSED = "refused"  # until the operator fixes the account
    THROTTLED = "throttled"  # passes by itself
    TEMPLATE = "template"  # affects one template only
    WARNING = "warning"  # the account works, except for some destinations or until it gets worse


@dataclass(frozen=True, slots=True)
class AccountAlert:
    """A vendor's message about our account rather than about a message; for the operator."""

    code: str
    detail: str
    kind: AlertKind


@dataclass(frozen=True, slots=True)
class ContactShared:
    phone: str  # E.164 with its plus
    chat_id: int
    locale: str
    needs_request: bool = False  # counts only in a chat in which our bot asked for it


@dataclass(frozen=True, slots=True)
class BotBlocked:
    chat_id: int
    blocked: bool  # False: the person unblocked the bot


@dataclass(frozen=True, slots=True)
class Started:
    chat_id: int
    locale: str


@dataclass(frozen=True, slots=True)
class Stopped:
    chat_id: int
    locale: str


@dataclass(frozen=True, slots=True)
class TextReceived:
    """A text that is not a command; people write "stop" as well."""

    text: str
    chat_id: int
    locale: str


BotUpdate = ContactShared | BotBlocked | Started | Stopped | TextReceived  # in a chat with our bot


@dataclass(frozen=True, slots=True)
class InboundEvents:
    """The content of one verified call or one PDU; empty if nothing in it concerns us."""

    raw: bytes  # raw body; stored with the receipts, so never with a code in it
    receipts: Sequence[Receipt] = ()
    parts: Sequence[Part] = ()
    recipients: Sequence[Recipient] = ()  # recipients of the receipts
    replies: Sequence[Reply] = ()
    bot_updates: Sequence[BotUpdate] = ()
    updated_at: datetime | None = None  # time of the person's action by the vendor's clock
    alerts: Sequence[AccountAlert] = ()
    handshake: str | None = None  # body of the response if the vendor verifies the URL
