"""The state machine of a message: applies an event to an attempt, its message and the hold.

Pure: no database, no clock. States only rise in rank, with one exception: a late `delivered`
replaces `failed` and `expired`. It charges nothing, because the hold is released by then.

A failed attempt only requests a fallback here; `fallback_chain` and the wallet decide on it.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from billing.wallet.ledger import DeliveryProof, Settlement, TransferKind
from channels.lifecycle.steps import FallbackReason, FallbackRequest, Step
from channels.phone_numbers import country_of

OPEN_MESSAGE = {"queued", "sent"}
OPEN_ATTEMPT = {"submitting", "ambiguous", "sent"}
MAX_TRIES = 8
MIN_TIME_LEFT = 30.0  # seconds of use a message must have left for another try
RETRY_BASE, RETRY_CAP = 0.5, 10.0
FIRST_POLL_DELAY, MAX_POLL_DELAY = 10.0, 120.0


class EventKind(StrEnum):
    ACCEPTED = "accepted"
    DELIVERED = "delivered"
    READ = "read"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"  # by the vendor, for a reason other than the recipient
    RETRY = "retry"  # definitely not sent; a later try may succeed
    AMBIGUOUS = "ambiguous"  # may or may not be sent
    EXPIRED = "expired"  # at the vendor
    GIVEN_UP = "given_up"  # past our own deadline
    NO_NEWS = "no_news"  # a poll returned nothing new


@dataclass(slots=True)
class Event:
    attempt_id: UUID
    kind: EventKind
    provider_id: str | None = None
    code: str | None = None
    detail: str | None = None
    proof: DeliveryProof | None = None
    at: datetime | None = None
    retry_after: float | None = None
    pollable: bool = False
    poll_in: float | None = None  # seconds until an ambiguous outcome can be polled
    is_call_result: bool = False  # the vendor was called, and this is the outcome
    is_account_fault: bool = False
    is_destination_fault: bool = False  # the account cannot send to this destination
    can_reroute: bool = False  # another account can and should carry the message


@dataclass(slots=True)
class AttemptState:
    """One attempt of a `MessageState`."""

    id: UUID
    n: int
    hold: int
    state: str
    provider: str
    provider_id: str | None
    polls: int
    channel: str = ""
    price: int = 0  # tokens of its hold, open or closed
    error_class: str | None = None
    error_code: str | None = None
    error_detail: str | None = None
    poll_in: float | None = None
    changed: bool = False
    has_new_provider_id: bool = False


@dataclass(slots=True)
class MessageState:
    """A locked message with the changes decided so far; `outcomes.apply` writes them."""

    id: UUID
    company_id: int
    mode: str
    kind: str
    channel: str
    chain: list[Step]  # still to be tried, in order
    phone: str
    state: str
    error: str
    tries: int
    hold: int
    price: int
    time_left: float
    subject_id: UUID
    has_subscribers: bool = False  # a webhook endpoint of the company
    due_in: float | None = None  # None: with a provider, or final
    is_owed: bool = False  # delivered, while the hold of a later try is still open
    attempts: list[AttemptState] = field(default_factory=list)
    fallback_request: FallbackRequest | None = None
    fallback_in: float | None = None  # patience of the channel it has just switched to
    has_switched_channel: bool = False
    # decisions for the timeline, each with the channel it concerns
    fallback_events: list[tuple[FallbackReason, str]] = field(default_factory=list)
    at: datetime | None = None
    read_at: datetime | None = None
    is_read: bool = False
    changed: bool = False
    has_new_state: bool = False
    is_rerouted: bool = False  # due at once by another account: no outcome to publish yet
    settlements: list[Settlement] = field(default_factory=list)

    @property
    def open_attempt(self) -> AttemptState | None:
        return next((attempt for attempt in self.attempts if attempt.state in OPEN_ATTEMPT), None)

    def settle(self, kind: TransferKind, *, proof: str = "", reason: str = "") -> None:
        country = country_of(self.phone) if kind is TransferKind.RELEASE else ""
        self.settlements.append(
            Settlement(
                self.company_id, self.id, self.hold, self.price, kind, proof, reason, country
            )
        )


def apply(message: MessageState, attempt: AttemptState, event: Event) -> None:
    """Changes both in place. An event that their states do not allow changes nothing."""
    if event.provider_id and attempt.provider_id is None:
        attempt.provider_id = event.provider_id.replace("\0", "")[:200]
        attempt.changed = attempt.has_new_provider_id = True
    _HANDLERS[event.kind](message, attempt, event)


def _accepted(message: MessageState, attempt: AttemptState, event: Event) -> None:
    if attempt.state in {"submitting", "ambiguous"}:
        _set_attempt_state(attempt, "sent", event)
        if event.pollable:
            attempt.poll_in = FIRST_POLL_DELAY
    # Only while the attempt is open: a late receipt of a refused one must not cancel the next.
    if attempt.state == "sent" and message.state == "queued" and attempt.n == message.tries:
        _set_message_state(message, "sent")


def _delivered(message: MessageState, attempt: AttemptState, event: Event) -> None:
    if attempt.state != "delivered":
        _set_attempt_state(attempt, "delivered", event)
    proof = event.proof or DeliveryProof.RECEIPT
    if message.state == "delivered":
        _settle_owed(message, attempt, TransferKind.CAPTURE, proof=proof)
        return
    if message.state in OPEN_MESSAGE:
        if attempt.hold == message.hold:
            message.settle(TransferKind.CAPTURE, proof=proof)
        else:
            _deliver_late(message, attempt, proof)
    message.at = event.at
    message.error = ""
    _set_message_state(message, "delivered")


_CANCEL_REASONS = {
    DeliveryProof.CODE_ENTERED: FallbackReason.CODE_ENTERED,
    DeliveryProof.CLICK: FallbackReason.CLICK,
}


def _deliver_late(message: MessageState, attempt: AttemptState, proof: DeliveryProof) -> None:
    """The hold of this attempt was released when the next one opened, so delivery is free.

    Cancels the next attempt unless a provider has it; its hold then stays open for its outcome.
    """
    if message.open_attempt:
        message.is_owed = True
        message.fallback_events.append((FallbackReason.OWED, message.channel))
        return
    message.fallback_events.append(
        (_CANCEL_REASONS.get(proof, FallbackReason.LATE), message.channel)
    )
    message.settle(TransferKind.RELEASE, reason="late proof")
    message.channel, message.price = attempt.channel or message.channel, attempt.price


def _settle_owed(
    message: MessageState,
    attempt: AttemptState,
    kind: TransferKind,
    *,
    proof: str = "",
    reason: str = "",
) -> None:
    if message.is_owed and attempt.hold == message.hold:
        message.settle(kind, proof=proof, reason=reason)
        message.is_owed = False
        message.changed = True


def _release_owed(message: MessageState, attempt: AttemptState) -> None:
    """Keeps the hold while another attempt on the same channel is open."""
    if message.open_attempt is None:
        _settle_owed(message, attempt, TransferKind.RELEASE, reason=attempt.state)


def _read(message: MessageState, attempt: AttemptState, event: Event) -> None:
    _delivered(message, attempt, event)
    message.read_at, message.is_read = event.at, True
    message.changed = True


def _unreachable(message: MessageState, attempt: AttemptState, event: Event) -> None:
    if not _rerouted(message, attempt, event):
        _fail(message, attempt, event, "recipient_unreachable")


def _refused(message: MessageState, attempt: AttemptState, event: Event) -> None:
    if not _rerouted(message, attempt, event):
        _fail(message, attempt, event, "delivery_failed")


def _rerouted(message: MessageState, attempt: AttemptState, event: Event) -> bool:
    """Makes the message due at once for another account of its channel, under the same hold."""
    is_current = attempt.state in {"submitting", "ambiguous"} and _is_current(message, attempt)
    has_chance = _tries_on_channel(message) < MAX_TRIES and message.time_left > MIN_TIME_LEFT
    if not (event.can_reroute and is_current and has_chance):
        return False
    _set_attempt_state(attempt, "failed", event)
    message.due_in = 0.0
    message.changed = message.is_rerouted = True
    return True


def _fail(message: MessageState, attempt: AttemptState, event: Event, error: str) -> None:
    if attempt.state in OPEN_ATTEMPT:
        _set_attempt_state(attempt, "failed", event)
        _fall_back(message, attempt, "failed", error)


def _fall_back(message: MessageState, attempt: AttemptState, state: str, error: str) -> None:
    """Requests the next channel of the chain, or finishes the message if there is none."""
    if not _is_current(message, attempt):
        _release_owed(message, attempt)
        return
    error = _combined_error(message, error)
    if message.chain and message.time_left > MIN_TIME_LEFT:
        message.fallback_request = FallbackRequest(FallbackReason.REFUSED, state, error)
        message.changed = True
    else:
        finish(message, state, error)


def _is_current(message: MessageState, attempt: AttemptState) -> bool:
    """Whether this is the latest attempt of an open message, on its current channel.

    An attempt on an earlier channel says nothing about the next, even before that is tried.
    """
    is_newest = attempt.n == message.tries and attempt.hold == message.hold
    return message.state in OPEN_MESSAGE and is_newest


def _combined_error(message: MessageState, error: str) -> str:
    """Unreachable only if every channel reported it."""
    last_errors = {
        earlier.hold: earlier.error_class
        for earlier in message.attempts
        if earlier.hold < message.hold
    }
    is_mixed = any(error_class != EventKind.UNREACHABLE for error_class in last_errors.values())
    return "delivery_failed" if is_mixed else error


def _retry(message: MessageState, attempt: AttemptState, event: Event) -> None:
    if attempt.state not in {"submitting", "ambiguous"} or _rerouted(message, attempt, event):
        return
    delay = max(event.retry_after or 0.0, _backoff(attempt.n))
    if _tries_on_channel(message) >= MAX_TRIES or message.time_left - delay < MIN_TIME_LEFT:
        _fail(message, attempt, event, "delivery_failed")
        return
    _set_attempt_state(attempt, "failed", event)
    if _is_current(message, attempt):
        message.due_in = delay
        message.changed = True
    else:
        _release_owed(message, attempt)


def _tries_on_channel(message: MessageState) -> int:
    """Tries on the current channel."""
    earlier = (attempt.n for attempt in message.attempts if attempt.hold < message.hold)
    return message.tries - max(earlier, default=0)


def _ambiguous(message: MessageState, attempt: AttemptState, event: Event) -> None:
    """The phone may have the message, so it is sent again only if the vendor denies having it.

    Otherwise a receipt, a proof or the deadline decides.
    """
    if attempt.state == "submitting":
        _set_attempt_state(attempt, "ambiguous", event)
        attempt.poll_in = event.poll_in


def _expired(message: MessageState, attempt: AttemptState, event: Event) -> None:
    if attempt.state in OPEN_ATTEMPT:
        _set_attempt_state(attempt, "expired", event)
        _fall_back(message, attempt, "expired", "delivery_failed")


def _given_up(message: MessageState, attempt: AttemptState, event: Event) -> None:
    if attempt.state in OPEN_ATTEMPT:
        _set_attempt_state(attempt, "expired", event)
    if _is_current(message, attempt):
        finish(message, "expired", "")
    else:
        _release_owed(message, attempt)


def _poll_empty(message: MessageState, attempt: AttemptState, event: Event) -> None:
    if attempt.state not in OPEN_ATTEMPT:
        return
    attempt.polls += 1
    attempt.poll_in = min(MAX_POLL_DELAY, FIRST_POLL_DELAY * 2**attempt.polls)
    attempt.changed = True


def give_up(message: MessageState) -> None:
    """Expires an open message past its deadline or useful time that has no open attempt."""
    if message.state in OPEN_MESSAGE:
        finish(message, "expired", "")


def finish(message: MessageState, state: str, error: str, *, reason: str = "") -> None:
    """Ends an undelivered message and releases its hold."""
    message.error = error
    message.settle(TransferKind.RELEASE, reason=reason or state)
    _set_message_state(message, state)


def _set_message_state(message: MessageState, state: str) -> None:
    message.has_new_state = message.has_new_state or message.state != state
    message.state = state
    message.changed = True
    if state not in OPEN_MESSAGE:
        message.due_in = message.fallback_request = None


def _set_attempt_state(attempt: AttemptState, state: str, event: Event) -> None:
    attempt.state = state
    attempt.changed = True
    if event.code is not None:
        attempt.error_class = event.kind.value
        attempt.error_code = event.code.replace("\0", "")[:60]
        attempt.error_detail = (event.detail or "").replace("\0", "")[:300]


def _backoff(n: int) -> float:
    """Full jitter: retries of many messages must not arrive together."""
    return random.uniform(0, min(RETRY_CAP, RETRY_BASE * 2**n))  # noqa: S311 - not a secret


_HANDLERS: dict[EventKind, Callable[[MessageState, AttemptState, Event], Any]] = {
    EventKind.ACCEPTED: _accepted,
    EventKind.DELIVERED: _delivered,
    EventKind.READ: _read,
    EventKind.UNREACHABLE: _unreachable,
    EventKind.REFUSED: _refused,
    EventKind.RETRY: _retry,
    EventKind.AMBIGUOUS: _ambiguous,
    EventKind.EXPIRED: _expired,
    EventKind.GIVEN_UP: _given_up,
    EventKind.NO_NEWS: _poll_empty,
}
