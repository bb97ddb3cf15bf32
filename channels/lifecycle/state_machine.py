"""What an event does to an attempt, its message and the hold on it. Pure: no database, no clock.

States rise by rank and never fall back, except that proof of delivery beats giving up: a late
`delivered` replaces `failed` and `expired`, and charges nothing, for the hold is gone by then.

What may go on by another channel only wishes so here: `chain` and the wallet decide.
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
MIN_TIME_LEFT = 30.0  # seconds a message must stay useful for another try to make sense
RETRY_BASE, RETRY_CAP = 0.5, 10.0
FIRST_POLL_DELAY, MAX_POLL_DELAY = 10.0, 120.0


class EventKind(StrEnum):
    ACCEPTED = "accepted"
    DELIVERED = "delivered"
    READ = "read"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"  # by the vendor, for a reason of its own
    RETRY = "retry"  # definitely not sent; may be later
    AMBIGUOUS = "ambiguous"
    EXPIRED = "expired"  # says the vendor
    GIVEN_UP = "given_up"  # by us, past the deadline
    NO_NEWS = "no_news"  # a poll that brought nothing


@dataclass(slots=True)
class Event:
    attempt_id: UUID
    what: EventKind
    provider_id: str | None = None
    code: str | None = None
    detail: str | None = None
    proof: DeliveryProof | None = None
    at: datetime | None = None
    retry_after: float | None = None
    pollable: bool = False
    ask_in: float | None = None  # seconds until an unclear outcome can be asked about
    is_called: bool = False  # the vendor was asked, and this is what came of it
    account: bool = False  # it is the account that is at fault
    destination: bool = False  # it is at fault, for this destination alone
    elsewhere: bool = False  # another account can carry the message, and should


@dataclass(slots=True)
class AttemptState:
    id: UUID
    n: int
    hold: int
    state: str
    provider: str
    provider_id: str | None
    polls: int
    channel: str = ""
    price: int = 0  # what its hold holds, or held
    error_class: str | None = None
    error_code: str | None = None
    error_detail: str | None = None
    poll_in: float | None = None
    changed: bool = False
    is_named: bool = False  # has just got the vendor's id


@dataclass(slots=True)
class MessageState:
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
    is_heard: bool = False  # by an endpoint of the company
    due_in: float | None = None  # None: with a provider, or over
    is_owed: bool = False  # delivered, with the hold of a later try still open
    attempts: list[AttemptState] = field(default_factory=list)
    wish: FallbackRequest | None = None
    fallback_in: float | None = None  # the patience with a channel it has just gone on to
    has_gone_on: bool = False
    turns: list[tuple[FallbackReason, str]] = field(
        default_factory=list
    )  # and the channel in question
    at: datetime | None = None
    read_at: datetime | None = None
    is_read: bool = False
    changed: bool = False
    moved: bool = False  # into another state, which is news to the company
    goes_on: bool = False  # at once, by another account: no outcome yet to whoever waits for one
    settlements: list[Settlement] = field(default_factory=list)

    @property
    def open_attempt(self) -> AttemptState | None:
        return next((one for one in self.attempts if one.state in OPEN_ATTEMPT), None)

    def settle(self, kind: TransferKind, *, proof: str = "", reason: str = "") -> None:
        country = country_of(self.phone) if kind is TransferKind.RELEASE else ""
        self.settlements.append(
            Settlement(
                self.company_id, self.id, self.hold, self.price, kind, proof, reason, country
            )
        )


def apply(message: MessageState, attempt: AttemptState, event: Event) -> None:
    """Change both in place; what does not follow from their states changes nothing."""
    if event.provider_id and attempt.provider_id is None:
        attempt.provider_id = event.provider_id.replace("\0", "")[:200]
        attempt.changed = attempt.is_named = True
    _HANDLERS[event.what](message, attempt, event)


def _accepted(message: MessageState, attempt: AttemptState, event: Event) -> None:
    if attempt.state in {"submitting", "ambiguous"}:
        _set_attempt_state(attempt, "sent", event)
        if event.pollable:
            attempt.poll_in = FIRST_POLL_DELAY
    # Only while the try is open: late word of a refused one must not call off the next.
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
    """The hold of this try was released when the next one opened, so it is free. The next is
    called off, unless a provider has it: then its hold stays for what becomes of it.
    """
    if message.open_attempt:
        message.is_owed = True
        message.turns.append((FallbackReason.OWED, message.channel))
        return
    message.turns.append((_CANCEL_REASONS.get(proof, FallbackReason.LATE), message.channel))
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
    """Unless it is tried on: another try of the same channel may be the one on its way."""
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
    """Due at once for another account of its channel, under the hold it has."""
    is_ours = attempt.state in {"submitting", "ambiguous"} and _is_current(message, attempt)
    is_of_use = _tries_on_channel(message) < MAX_TRIES and message.time_left > MIN_TIME_LEFT
    if not (event.elsewhere and is_ours and is_of_use):
        return False
    _set_attempt_state(attempt, "failed", event)
    message.due_in = 0.0
    message.changed = message.goes_on = True
    return True


def _fail(message: MessageState, attempt: AttemptState, event: Event, error: str) -> None:
    if attempt.state in OPEN_ATTEMPT:
        _set_attempt_state(attempt, "failed", event)
        _fall_back(message, attempt, "failed", error)


def _fall_back(message: MessageState, attempt: AttemptState, state: str, error: str) -> None:
    """This try came to nothing: on to the next channel where there is one, or else the end."""
    if not _is_current(message, attempt):
        _release_owed(message, attempt)
        return
    error = _combined_error(message, error)
    if message.chain and message.time_left > MIN_TIME_LEFT:
        message.wish = FallbackRequest(FallbackReason.REFUSED, state, error)
        message.changed = True
    else:
        finish(message, state, error)


def _is_current(message: MessageState, attempt: AttemptState) -> bool:
    """Of an open message: a try of a channel it has left says nothing of the next, even while
    that is not tried yet.
    """
    is_newest = attempt.n == message.tries and attempt.hold == message.hold
    return message.state in OPEN_MESSAGE and is_newest


def _combined_error(message: MessageState, error: str) -> str:
    """Unreachable only where every channel said so."""
    last_of = {one.hold: one.error_class for one in message.attempts if one.hold < message.hold}
    is_mixed = any(one != EventKind.UNREACHABLE for one in last_of.values())
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
    """By the channel it is at now."""
    return message.tries - max(
        (one.n for one in message.attempts if one.hold < message.hold), default=0
    )


def _ambiguous(message: MessageState, attempt: AttemptState, event: Event) -> None:
    """The phone may have it. Never sent again, unless the vendor says that it never got it:
    else a receipt, a proof or the deadline decides.
    """
    if attempt.state == "submitting":
        _set_attempt_state(attempt, "ambiguous", event)
        attempt.poll_in = event.ask_in


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
    """Past the deadline or the use of it, with no attempt open."""
    if message.state in OPEN_MESSAGE:
        finish(message, "expired", "")


def finish(message: MessageState, state: str, error: str, *, reason: str = "") -> None:
    """Not delivered: its hold goes back."""
    message.error = error
    message.settle(TransferKind.RELEASE, reason=reason or state)
    _set_message_state(message, state)


def _set_message_state(message: MessageState, state: str) -> None:
    message.moved = message.moved or message.state != state
    message.state = state
    message.changed = True
    if state not in OPEN_MESSAGE:
        message.due_in = message.wish = None


def _set_attempt_state(attempt: AttemptState, state: str, event: Event) -> None:
    attempt.state = state
    attempt.changed = True
    if event.code is not None:
        attempt.error_class = event.what.value
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
