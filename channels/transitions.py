"""What an event does to an attempt, its message and the hold on it. Pure: no database, no clock.

States rise by rank and never fall back, except that proof of delivery beats giving up: a late
`delivered` replaces `failed` and `expired`, and charges nothing, for the hold is gone by then.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from billing.ledger import Kind, Proof, Settlement

OPEN_MESSAGE = {"queued", "sent"}
OPEN_ATTEMPT = {"submitting", "ambiguous", "sent"}
MAX_TRIES = 8
LEAST_TIME = 30.0  # seconds a message must stay useful for another try to make sense
RETRY_BASE, RETRY_CAP = 0.5, 10.0
POLL_FIRST, POLL_CAP = 10.0, 120.0


class What(StrEnum):
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
    what: What
    provider_id: str | None = None
    code: str | None = None
    detail: str | None = None
    proof: Proof | None = None
    at: datetime | None = None
    retry_after: float | None = None
    pollable: bool = False
    is_called: bool = False  # the vendor was asked, and this is what came of it
    account: bool = False  # it is the account that is at fault
    elsewhere: bool = False  # another account can carry the message, and should


@dataclass(slots=True)
class Attempt:
    id: UUID
    n: int
    hold: int
    state: str
    provider: str
    provider_id: str | None
    polls: int
    error_class: str | None = None
    error_code: str | None = None
    error_detail: str | None = None
    poll_in: float | None = None
    changed: bool = False


@dataclass(slots=True)
class Message:
    id: UUID
    company_id: int
    mode: str
    kind: str
    channel: str
    chain: list[str]
    phone: str
    state: str
    error: str
    tries: int
    hold: int
    price: int
    time_left: float
    subject_id: UUID
    is_heard: bool = False  # by an endpoint of the company
    due_in: float | None = None
    at: datetime | None = None
    read_at: datetime | None = None
    is_read: bool = False
    changed: bool = False
    moved: bool = False  # into another state, which is news to the company
    goes_on: bool = False  # at once, by another account: no outcome yet to whoever waits for one
    settlements: list[Settlement] = field(default_factory=list)

    def settle(self, kind: Kind, *, proof: str = "", reason: str = "") -> None:
        self.settlements.append(
            Settlement(self.company_id, self.id, self.hold, self.price, kind, proof, reason)
        )


def apply(message: Message, attempt: Attempt, event: Event) -> None:
    """Change both in place; what does not follow from their states changes nothing."""
    if event.provider_id and attempt.provider_id is None:
        attempt.provider_id = event.provider_id.replace("\0", "")[:200]
        attempt.changed = True
    _HANDLERS[event.what](message, attempt, event)


def _accepted(message: Message, attempt: Attempt, event: Event) -> None:
    if attempt.state in {"submitting", "ambiguous"}:
        _move(attempt, "sent", event)
        if event.pollable:
            attempt.poll_in = POLL_FIRST
    # Only while the try is open: late word of a refused one must not call off the next.
    if attempt.state == "sent" and message.state == "queued" and attempt.n == message.tries:
        _advance(message, "sent")


def _delivered(message: Message, attempt: Attempt, event: Event) -> None:
    if attempt.state != "delivered":
        _move(attempt, "delivered", event)
    if message.state == "delivered":
        return
    if message.state in OPEN_MESSAGE:
        if attempt.hold == message.hold:
            message.settle(Kind.CAPTURE, proof=event.proof or Proof.RECEIPT)
        else:  # the hold of this try was released when the next one opened: no charge
            message.settle(Kind.RELEASE, reason="late proof")
    message.at = event.at
    message.error = ""
    _advance(message, "delivered")


def _read(message: Message, attempt: Attempt, event: Event) -> None:
    _delivered(message, attempt, event)
    message.read_at, message.is_read = event.at, True
    message.changed = True


def _unreachable(message: Message, attempt: Attempt, event: Event) -> None:
    if not _went_elsewhere(message, attempt, event):
        _fail(message, attempt, event, "recipient_unreachable")


def _refused(message: Message, attempt: Attempt, event: Event) -> None:
    if not _went_elsewhere(message, attempt, event):
        _fail(message, attempt, event, "delivery_failed")


def _went_elsewhere(message: Message, attempt: Attempt, event: Event) -> bool:
    """Due at once for another account of its channel, under the hold it has."""
    is_ours = attempt.state in {"submitting", "ambiguous"} and attempt.n == message.tries
    is_of_use = message.tries < MAX_TRIES and message.time_left > LEAST_TIME
    if not (event.elsewhere and is_ours and is_of_use and message.state in OPEN_MESSAGE):
        return False
    _move(attempt, "failed", event)
    message.due_in = 0.0
    message.changed = message.goes_on = True
    return True


def _fail(message: Message, attempt: Attempt, event: Event, error: str) -> None:
    if attempt.state not in OPEN_ATTEMPT:
        return
    _move(attempt, "failed", event)
    if message.state not in OPEN_MESSAGE or attempt.n != message.tries:
        return
    if message.chain and message.time_left > LEAST_TIME:
        _fall_back(message)
    else:
        _finish(message, "failed", error)


def _fall_back(message: Message) -> None:
    """On to the next channel of the chain. Only test keys have one, and they hold nothing."""
    message.channel, *message.chain = message.chain
    message.hold += 1
    message.due_in = 0.0
    message.changed = True  # in the state it is in: `sent` never goes back to `queued`


def _retry(message: Message, attempt: Attempt, event: Event) -> None:
    if attempt.state not in {"submitting", "ambiguous"} or _went_elsewhere(message, attempt, event):
        return
    delay = max(event.retry_after or 0.0, _backoff(attempt.n))
    if message.tries >= MAX_TRIES or message.time_left - delay < LEAST_TIME:
        _fail(message, attempt, event, "delivery_failed")
        return
    _move(attempt, "failed", event)
    if message.state in OPEN_MESSAGE and attempt.n == message.tries:
        message.due_in = delay
        message.changed = True


def _ambiguous(message: Message, attempt: Attempt, event: Event) -> None:
    """The phone may have it. Never sent again: a receipt, a proof or the deadline decides."""
    if attempt.state == "submitting":
        _move(attempt, "ambiguous", event)


def _expired(message: Message, attempt: Attempt, event: Event) -> None:
    _expire(message, attempt, event, "delivery_failed")


def _given_up(message: Message, attempt: Attempt, event: Event) -> None:
    _expire(message, attempt, event, "")


def _expire(message: Message, attempt: Attempt, event: Event, error: str) -> None:
    if attempt.state in OPEN_ATTEMPT:
        _move(attempt, "expired", event)
    if message.state in OPEN_MESSAGE and attempt.n == message.tries:
        _finish(message, "expired", error)


def _no_news(message: Message, attempt: Attempt, event: Event) -> None:
    if attempt.state not in OPEN_ATTEMPT:
        return
    attempt.polls += 1
    attempt.poll_in = min(POLL_CAP, POLL_FIRST * 2**attempt.polls)
    attempt.changed = True


def give_up(message: Message) -> None:
    """Past the deadline or the use of it, with no attempt open."""
    if message.state in OPEN_MESSAGE:
        _finish(message, "expired", "")


def _finish(message: Message, state: str, error: str) -> None:
    message.error = error
    message.settle(Kind.RELEASE, reason=state)
    _advance(message, state)


def _advance(message: Message, state: str) -> None:
    message.moved = message.moved or message.state != state
    message.state = state
    message.changed = True


def _move(attempt: Attempt, state: str, event: Event) -> None:
    attempt.state = state
    attempt.changed = True
    if event.code is not None:
        attempt.error_class = event.what.value
        attempt.error_code = event.code.replace("\0", "")[:60]
        attempt.error_detail = (event.detail or "").replace("\0", "")[:300]


def _backoff(n: int) -> float:
    """Full jitter: retries of many messages must not arrive together."""
    return random.uniform(0, min(RETRY_CAP, RETRY_BASE * 2**n))  # noqa: S311 - not a secret


_HANDLERS: dict[What, Callable[[Message, Attempt, Event], Any]] = {
    What.ACCEPTED: _accepted,
    What.DELIVERED: _delivered,
    What.READ: _read,
    What.UNREACHABLE: _unreachable,
    What.REFUSED: _refused,
    What.RETRY: _retry,
    What.AMBIGUOUS: _ambiguous,
    What.EXPIRED: _expired,
    What.GIVEN_UP: _given_up,
    What.NO_NEWS: _no_news,
}
