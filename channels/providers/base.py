"""The provider interface and the value types of a send: messages, acceptances, errors.

Providers know nothing of the database, settings or money. They translate one vendor's terms into
those below; `channels.lifecycle.state_machine` decides what follows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from channels.providers.inbound import (
    AccountAlert,
    InboundEvents,
    InvalidWebhookError,
    Receipt,
    Reply,
    WebhookRequest,
)


class ApprovalKind(StrEnum):
    TEMPLATE = "template"
    SENDER = "sender"
    CAMPAIGN = "campaign"  # A2P 10DLC: registration of a messaging service with US carriers


class ApprovalStatus(StrEnum):
    APPROVED = "approved"
    PENDING = "pending"
    REJECTED = "rejected"
    PAUSED = "paused"
    DISABLED = "disabled"
    MISSING = "missing"  # the account uses a name that the vendor does not list


@dataclass(frozen=True, slots=True)
class Approval:
    kind: ApprovalKind
    name: str
    status: ApprovalStatus
    language: str = ""
    vendor_status: str = ""  # the status as the vendor calls it
    quality: str = ""
    reason: str = ""
    is_used: bool = True  # used by this account


class Content(StrEnum):
    """The content of a message; a provider declares the kinds that it supports."""

    CODE = "code"
    CODE_WITH_LINK = "code_with_link"
    LINK = "link"
    # Content whose own text must be shown: no template may word it.
    CODE_WITH_TEXT = "code_with_text"
    # A custom code, made by the company: 4 to 8 digits, or anything else.
    CUSTOM_DIGITS = "custom_digits"
    CUSTOM_CODE = "custom_code"

    @property
    def has_link(self) -> bool:
        return self in {Content.CODE_WITH_LINK, Content.LINK}

    @property
    def is_custom_code(self) -> bool:
        return self in {Content.CUSTOM_DIGITS, Content.CUSTOM_CODE}


@dataclass(frozen=True, slots=True)
class Capabilities:
    contents: frozenset[Content]
    receipts: bool  # False: acceptance is the only proof, unless `waits_for_person`
    pollable: bool = False  # `poll` can read the status of an accepted message
    needs_contact: bool = False  # reaches only people who shared their contact with our bot
    waits_for_person: bool = False  # only an action of the person proves delivery
    clicks_prove: bool = True  # a click on the link proves delivery
    # the vendor asks for reports of entered codes: `report_entered`
    wants_entered_codes: bool = False


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message ready for a provider. `text` is complete and includes the link."""

    ref: str  # our attempt id; receipts echo it where the vendor can
    phone: str  # E.164 with its plus
    content: Content
    locale: str  # tag of its language, from `Provider.locale_for`
    text: str
    ttl: int  # seconds the message stays useful
    code: str | None = None
    short_url: str | None = None
    brand: str = ""
    chat_id: int | None = None  # the person's chat with our bot, if the account `needs_contact`
    n: int = 1  # number of the attempt
    message_id: str = ""  # our id, the same for every attempt


@dataclass(frozen=True, slots=True)
class Accepted:
    """The vendor's acceptance of the message, possibly without an id or with an alert."""

    provider_id: str | None
    alert: AccountAlert | None = None
    recipient_id: str = ""  # the vendor's id of the person, by which it may identify them later


@dataclass(frozen=True, slots=True)
class AccountRequirements:
    """The values that an account's checks compare with the vendor's settings."""

    hook_url: str  # our webhook's URL
    countries: tuple[str, ...] = ()  # ISO 3166 codes of the countries to send to


@dataclass(frozen=True, slots=True)
class Check:
    """A requirement of a working account, as the vendor reports it."""

    topic: str
    ok: bool | None  # None: the vendor does not report it, or not for this token
    detail: str = ""  # never contains a secret


class SendError(Exception):
    """The vendor did not accept a message. `code` is the vendor's, `detail` holds no secret."""

    def __init__(self, code: str, detail: str = "", *, account: bool = False) -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code = code
        self.detail = detail
        # The account is at fault, not this message: the error counts for its circuit breaker.
        self.account = account


class UnreachableError(SendError):
    """This channel cannot reach the person. Definite: nothing was sent."""


class BarredError(UnreachableError):
    """The subscriber has barred these messages at the carrier: in Russia mass SMS, including codes.

    Neither an outage nor a wrong number, and no other account of the channel reaches the phone.
    """


class RefusedError(SendError):
    """The vendor refuses the message: configuration, policy, content. Definite."""


class DestinationRefusedError(RefusedError):
    """The account may not send to this destination, a country for example.

    Another account may carry the message. One company's odd destination must not open the account's
    circuit breaker for all.
    """


class TransientError(SendError):
    """Not accepted now, perhaps later: no connection or a documented temporary error. Definite."""


class ThrottledError(TransientError):
    """Too fast; `retry_after` in seconds if the vendor stated it. Definite."""

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
    """The request was sent but got no usable response: the phone may have the message."""


class Provider(ABC):
    """An account with a vendor."""

    name: str
    channel: str  # its name
    capabilities: Capabilities
    has_handshake: ClassVar[bool] = False  # the vendor verifies our webhook's URL by a GET

    @abstractmethod
    def send(self, message: Outgoing) -> Accepted:
        """Sends the message or raises a `SendError`. Called from many threads."""

    def locale_for(self, tag: str, language: str) -> str:
        """The `locale` of a message requested in `tag`, whose text is in our language `language`.

        A vendor whose templates have their own languages returns the nearest of these.
        """
        return language

    def is_proved_by(self, message: Outgoing) -> bool:
        """Whether acceptance is the only proof of delivery that will arrive."""
        return not (self.capabilities.receipts or self.capabilities.waits_for_person)

    def provider_id_of(self, message_id: str, phone: str) -> str | None:
        """The vendor's id of a message if we choose it before the send, else None.

        An attempt with an ambiguous outcome can be polled by it. The same for every attempt.
        """
        return None

    def parse_webhook(self, call: WebhookRequest) -> InboundEvents:
        """Verifies the signature over the raw bytes, once, then translates the content of the call.

        Raises InvalidWebhookError. Skips unknown content and raises nothing else: the vendor would
        only repeat the call.
        """
        raise InvalidWebhookError(f"{self.name} is not called by its vendor")

    def alert_of(self, receipt: Receipt) -> AccountAlert | None:
        """The alert that a failed receipt, pushed or polled, implies."""
        return None

    def events_of(
        self, raw: bytes, receipt: Receipt | None, reply: Reply | None = None
    ) -> InboundEvents:
        """The events of a call with at most one of each, and the alert that its receipt implies."""
        alert = self.alert_of(receipt) if receipt else None
        return InboundEvents(
            raw,
            receipts=[receipt] if receipt else [],
            replies=[reply] if reply else [],
            alerts=[alert] if alert else [],
        )

    def checks(self, requirements: AccountRequirements) -> list[Check]:
        """Checks what a fresh account may lack, by calls that change nothing.

        If the account itself does not work, returns only that check.
        """
        try:
            self.check()
        except TransientError as error:
            return [Check("away", False, str(error))]
        except SendError as error:
            return [Check("account", False, str(error))]
        return [Check("account", True), *self.more_checks(requirements)]

    def more_checks(self, requirements: AccountRequirements) -> list[Check]:
        """Further checks of an account that works."""
        return []

    def renew(self, requirements: AccountRequirements) -> None:  # noqa: B027 - most vendors drop nothing
        """Restores settings that the vendor drops by itself, and changes no correct ones.

        Raises a SendError if the vendor refuses it or does not answer.
        """

    def check(self) -> None:  # noqa: B027 - scripted providers have no vendor to ask
        """Asks the vendor whether our account works, at no cost and without a message.

        Raises a SendError if it does not work or the vendor does not answer.
        """

    def approvals(self) -> list[Approval] | None:
        """Our templates and senders, with their state at the vendor; None if it has no list.

        Raises a SendError if the vendor does not answer.
        """
        return None

    def poll(self, provider_id: str) -> Receipt | None:
        """Reads a message's status from the vendor; None if there is no news or no response."""
        return None

    def report_entered(self, provider_id: str, code: str) -> None:  # noqa: B027 - few vendors ask
        """Reports to the vendor that the code of its message was entered. Raises a SendError."""


# Stores all events, or raises: then all are sent again, harmlessly.
StoreEvents = Callable[[Sequence[InboundEvents]], None]


class HostedProvider(Provider):
    window: int  # maximum number of unanswered messages

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether a message sent now would leave; otherwise it should stay queued."""

    @abstractmethod
    def start(self, *, store: StoreEvents, on_open: Callable[[], None]) -> None:
        """Connects and reconnects; calls `on_open` whenever `is_open` becomes true."""

    @abstractmethod
    def stop(self) -> None:
        """Stores the received events and disconnects; call it once no thread calls `send`."""

    @abstractmethod
    def details(self) -> Mapping[str, int]:
        """Values for the heartbeat."""
