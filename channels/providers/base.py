"""What every provider speaks: a message out, its acceptance, a refusal, a delivery receipt.

Providers know nothing of the database, of settings or of money. They translate one vendor's
words into the few below; what happens then is `channels.deliver.dispatcher`'s business.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar


class Channel(StrEnum):
    WHATSAPP = "whatsapp"
    TELEGRAM = "telegram"
    SMS = "sms"


class Content(StrEnum):
    """What a message carries; a provider declares which of these it can."""

    CODE = "code"
    CODE_WITH_LINK = "code_with_link"
    LINK = "link"


class ReceiptState(StrEnum):
    SENT = "sent"
    DELIVERED = "delivered"
    READ = "read"
    FAILED = "failed"
    UNREACHABLE = "unreachable"  # failed, for a reason that says so of this person
    EXPIRED = "expired"
    NOT_FOUND = "not_found"  # asked of an unclear outcome: the vendor never got it


@dataclass(frozen=True, slots=True)
class Capabilities:
    contents: frozenset[Content]
    receipts: bool  # False: handing over is the only proof, unless `waits_for_person`
    pollable: bool = False  # `poll` can ask what became of an accepted message
    needs_contact: bool = False  # reaches only people who shared their contact with our bot
    waits_for_person: bool = False  # nothing but what the person does is a proof
    clicks_prove: bool = True  # a person who opened the link has got the message


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message ready for one provider. `text` is complete and has the link in it."""

    ref: str  # our attempt id: echoed back in receipts where the vendor can
    phone: str  # E.164 with its plus
    content: Content
    locale: str  # "ru" or "en"
    text: str
    ttl: int  # seconds the message stays useful
    code: str | None = None
    short_url: str | None = None
    brand: str = ""
    chat_id: int | None = None  # the person's chat with our bot, where `needs_contact`
    n: int = 1  # which attempt at this message it is
    message_id: str = ""  # ours, and the same for every attempt


class AlertKind(StrEnum):
    REFUSED = "refused"  # lasts until somebody mends the account
    THROTTLED = "throttled"  # passes by itself
    TEMPLATE = "template"  # of one template alone: with the others the account goes on
    WARNING = "warning"  # the account goes on, for some destinations or until it gets worse


@dataclass(frozen=True, slots=True)
class AccountAlert:
    """What a vendor says of our account rather than of a message: the operator's business."""

    code: str
    detail: str
    kind: AlertKind


@dataclass(frozen=True, slots=True)
class Accepted:
    """The vendor took the message; it may have said so without an id, or with a reservation."""

    provider_id: str | None
    alert: AccountAlert | None = None


@dataclass(frozen=True, slots=True)
class AccountRequirements:
    """What an account is for, as its checks need to know it."""

    hook_url: str  # where the vendor should call us
    countries: tuple[str, ...] = ()  # ISO 3166 codes of those it is to send to


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a working account needs, as the vendor tells it."""

    topic: str
    ok: bool | None  # None: the vendor does not tell, or not to this token
    detail: str = ""  # in the vendor's words and ours; never a secret


class SendError(Exception):
    """Why a message was not taken. `code` is the vendor's own, `detail` never holds a secret."""

    def __init__(self, code: str, detail: str = "", *, account: bool = False) -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code = code
        self.detail = detail
        self.account = account  # the account is at fault, not this message: a breaker's business


class UnreachableError(SendError):
    """This person cannot be reached here. Definite: nothing was sent."""


class RefusedError(SendError):
    """The vendor will not send this: configuration, policy, content. Definite."""


class DestinationRefusedError(RefusedError):
    """The account may not send there, to that country, say: its fault, and no other place's.

    Another account may carry the message. One company's odd destination must not shut the account
    for all.
    """


class TransientError(SendError):
    """Not taken now, may be later: no connection, a documented temporary answer. Definite."""


class ThrottledError(TransientError):
    """Too fast; `retry_after` in seconds where the vendor named it. Definite."""

    def __init__(
        self,
        code: str,
        detail: str = "",
        *,
        account: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(code, detail, account=account)
        self.retry_after = retry_after


class AmbiguousError(SendError):
    """The request went out and no usable answer came: the phone may have the message."""


class InvalidSignatureError(Exception):
    """The bytes were not signed by who they claim to be from."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a vendor says became of a message, matched by its id or by our `ref`."""

    provider_id: str | None
    ref: str | None
    state: ReceiptState
    word: str  # the vendor's own word for the state
    at: datetime | None = None
    error_code: str | None = None
    error_detail: str = ""
    # Where a vendor spells ids otherwise than when it took the message: what `provider_id` may have
    # been then, and the phone it went to, by which the right one is told.
    alternatives: tuple[str, ...] = ()
    phone: str = ""  # as the vendor writes it
    needs_phone: bool = False  # a phone could have written it: it speaks of its own messages alone


@dataclass(frozen=True, slots=True)
class Reply:
    """What a person wrote back to us, in as many words as matter."""

    phone: str  # with a plus where it is surely E.164; empty when the vendor keeps it to itself
    text: str
    user_id: str = ""  # the vendor's own id of the person, where it has one


@dataclass(frozen=True, slots=True)
class Recipient:
    """The vendor's own id of the person who got a message of ours."""

    user_id: str
    ref: str  # our attempt id


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """A vendor's HTTP call to us. `url` is the public one, as signatures cover it."""

    url: str
    headers: Mapping[str, str]
    body: bytes


class Provider(ABC):
    """One account with one vendor."""

    name: str
    channel: Channel
    capabilities: Capabilities
    has_handshake: ClassVar[bool] = False  # the vendor verifies our webhook's URL by a GET
    has_updates: ClassVar[bool] = False  # its webhook reports what people do in a chat with our bot

    @abstractmethod
    def send(self, message: Outgoing) -> Accepted:
        """Hand the message over, or raise one of the `SendError`s. Called from many threads."""

    def is_proved_by(self, message: Outgoing) -> bool:
        """Whether taking this message is all the proof of delivery there will be."""
        return not (self.capabilities.receipts or self.capabilities.waits_for_person)

    def provider_id_of(self, message_id: str, phone: str) -> str | None:
        """The vendor's id of a message before it is sent, where we may choose it.

        By it an attempt of unknown outcome can be asked about. The same for every attempt.
        """
        return None

    def receipts(self, call: WebhookRequest) -> list[Receipt]:
        """Verify the signature over the raw bytes, then translate.

        Raises InvalidSignatureError. What is no receipt (a chat message, an unknown state)
        is left out.
        """
        raise InvalidSignatureError(f"{self.name} sends no receipts")

    def replies(self, call: WebhookRequest) -> list[Reply]:
        """What people say in the same call; raises InvalidSignatureError as well."""
        return []

    def recipients(self, call: WebhookRequest) -> list[Recipient]:
        """Whom the same call's receipts are about; raises InvalidSignatureError as well."""
        return []

    def alerts(self, call: WebhookRequest) -> list[AccountAlert]:
        """What the same call says of the account; raises InvalidSignatureError as well."""
        return []

    def alert_of(self, receipt: Receipt) -> AccountAlert | None:
        """What a failed receipt, pushed or polled, says of the account."""
        return None

    def checks(self, wanted: AccountRequirements) -> list[Check]:
        """What a fresh account may lack, asked of the vendor by calls that change nothing.

        When the account itself does not answer, that alone.
        """
        try:
            self.check()
        except TransientError as error:
            return [Check("away", False, str(error))]
        except SendError as error:
            return [Check("account", False, str(error))]
        return [Check("account", True), *self.more_checks(wanted)]

    def more_checks(self, wanted: AccountRequirements) -> list[Check]:
        """Of an account that works."""
        return []

    def check(self) -> None:  # noqa: B027 - what is played within has nobody to ask
        """Ask the vendor whether our account works, at no cost and without a message.

        Raises a SendError when it does not, or cannot be asked.
        """

    def handshake(self, query: Mapping[str, str]) -> str | None:
        """The challenge to answer a GET with, or None if the vendor does not know our token."""
        return None

    def poll(self, provider_id: str) -> Receipt | None:
        """Ask what became of a message; None when there is no news, or nobody answers."""
        return None
