"""The state machine of a message: the effect of an event on the message, its attempt and its hold.

Pure: no database, no clock. States only rise in rank, with one exception: a late `delivered`
replaces `failed` and `expired`. It charges nothing, because the hold is released by then.

A failed attempt only requests a fallback here; `fallback_chain` and the wallet decide on it.

For speed three statements decide the usual cases without it, each held to it by a test:
`channels/outcomes/accept_unchanged.sql` an acceptance of a message that is still as claimed
(`test_acceptance_statement_matches_state_machine`), `channels/outcomes/deliver_unchanged.sql` a
delivery (`test_one_statement_decides_as_the_state_machine`, over all states), and
`otp/check/settle_finished.sql` a correct code that has no open message to prove
(`test_code_of_a_finished_message_changes_no_money`).
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from billing.wallet.ledger import DeliveryProof, TransferKind
from channels.lifecycle.snapshots import (
    OPEN_ATTEMPT,
    AttemptState,
    Decision,
    FallbackReason,
    FallbackRequest,
    MessageState,
    Snapshot,
    unchanged_decision,
)

UNACCEPTED = {"submitting", "ambiguous"}
UNDELIVERED = OPEN_ATTEMPT | {"failed", "expired"}
MAX_TRIES = 8
MIN_TIME_LEFT = 30  # useful seconds a message must have left for another try
RETRY_BASE = 0.5  # seconds
RETRY_CAP = 10.0  # seconds
FIRST_POLL_DELAY = 10.0  # seconds
MAX_POLL_DELAY = 120.0  # seconds


class EventKind(StrEnum):
    ACCEPTED = "accepted"
    DELIVERED = "delivered"
    READ = "read"
    UNREACHABLE = "unreachable"
    BARRED = "barred"  # barred by the subscriber at the carrier
    REFUSED = "refused"  # refused by the vendor, for a reason other than the recipient
    RETRY = "retry"  # definitely not sent; a later try may succeed
    AMBIGUOUS = "ambiguous"  # may or may not be sent
    EXPIRED = "expired"  # the vendor gave it up
    GIVEN_UP = "given_up"  # past our own deadline
    NO_NEWS = "no_news"  # a poll found no new state


# Failures that lie with this person's phone.
UNREACHABLE_KINDS = frozenset({EventKind.UNREACHABLE, EventKind.BARRED})


class FirstClaim(NamedTuple):
    """The transaction that claimed a message for its first attempt, if no endpoint subscribes to
    its states. The rows it wrote may be unchanged when the vendor accepts the message.
    """

    xid: str
    mode: str
    channel: str
    price: int


@dataclass(slots=True)
class Event:
    """An event of one attempt of a message."""

    message_id: UUID
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
    can_reroute: bool = False  # another account can and should carry the message
    first_claim: FirstClaim | None = None


# An event moves an attempt from one of these states to another; other attempts stay unchanged.
_ATTEMPT_TRANSITIONS = {
    EventKind.ACCEPTED: (UNACCEPTED, "sent"),
    EventKind.DELIVERED: (UNDELIVERED, "delivered"),
    EventKind.READ: (UNDELIVERED, "delivered"),
    EventKind.UNREACHABLE: (OPEN_ATTEMPT, "failed"),
    EventKind.BARRED: (OPEN_ATTEMPT, "failed"),
    EventKind.REFUSED: (OPEN_ATTEMPT, "failed"),
    EventKind.RETRY: (UNACCEPTED, "failed"),
    # The phone may have the message, so it is sent again only if the vendor denies having it.
    # Otherwise a receipt, a proof or the deadline decides.
    EventKind.AMBIGUOUS: ({"submitting"}, "ambiguous"),
    EventKind.EXPIRED: (OPEN_ATTEMPT, "expired"),
    EventKind.GIVEN_UP: (OPEN_ATTEMPT, "expired"),
}


def decide(snapshot: Snapshot, events: Iterable[Event]) -> Decision:
    """Applies the events in order. An event that the states do not allow changes nothing."""
    decision = unchanged_decision(snapshot)
    for event in events:
        decision = _follow(decision, event)
    return decision


def give_up(snapshot: Snapshot) -> Decision:
    """Expires an open message past its deadline or useful time that has no open attempt."""
    decision = unchanged_decision(snapshot)
    return decision.finish("expired", "") if snapshot.message.is_open else decision


def _follow(decision: Decision, event: Event) -> Decision:
    for before in decision.attempts:
        if before.id == event.attempt_id:
            after = _attempt_after(before, _without_erased(decision.message, event))
            if after is not before:
                decision = decision.with_attempt(before, after)
            react = _REACTIONS.get(event.kind)
            return react(decision, before.state, after, event) if react else decision
    return decision


def _without_erased(message: MessageState, event: Event) -> Event:
    """The event without the vendor's id, which may contain the phone, if the phone was erased."""
    is_erased = event.provider_id is not None and message.phone.endswith("*")
    return replace(event, provider_id=None) if is_erased else event


def _attempt_after(attempt: AttemptState, event: Event) -> AttemptState:
    if event.provider_id and attempt.provider_id is None:
        attempt = attempt._replace(provider_id=clean_provider_id(event.provider_id))
    if event.kind is EventKind.NO_NEWS:
        return _polled(attempt) if attempt.is_open else attempt
    from_states, state = _ATTEMPT_TRANSITIONS[event.kind]
    if attempt.state not in from_states:
        return attempt
    poll_in = attempt.poll_in
    if state == "ambiguous":
        poll_in = event.poll_in
    elif state == "sent" and event.pollable:
        poll_in = FIRST_POLL_DELAY
    if event.code is None:
        return attempt._replace(state=state, poll_in=poll_in)
    return attempt._replace(
        state=state,
        poll_in=poll_in,
        error_class=event.kind.value,
        error_code=event.code.replace("\0", "")[:60],
        error_detail=(event.detail or "").replace("\0", "")[:300],
    )


def clean_provider_id(provider_id: str) -> str:
    """The id in the form that its column can hold."""
    return provider_id.replace("\0", "")[:200]


def _polled(attempt: AttemptState) -> AttemptState:
    polls = attempt.polls + 1
    poll_in = min(MAX_POLL_DELAY, FIRST_POLL_DELAY * 2**polls)
    return attempt._replace(polls=polls, poll_in=poll_in)


def _accepted(decision: Decision, _was: str, attempt: AttemptState, _event: Event) -> Decision:
    # Only while the attempt is open: a late receipt of a refused attempt must not cancel the next.
    message = decision.message
    if attempt.state == "sent" and message.state == "queued" and attempt.n == message.tries:
        return decision.with_state("sent", message.error)
    return decision


def _delivered(decision: Decision, _was: str, attempt: AttemptState, event: Event) -> Decision:
    proof = event.proof or DeliveryProof.RECEIPT
    message = decision.message
    if message.state == "delivered":
        return _settle_owed(decision, attempt, TransferKind.CAPTURE, proof=proof)
    if message.is_open:
        if attempt.hold == message.hold:
            decision = decision.settle(TransferKind.CAPTURE, proof=proof)
        else:
            decision = _deliver_late(decision, attempt, proof)
    elif attempt.hold != message.hold:
        decision = _by_channel_of(decision, attempt)
    return decision.with_state("delivered", "")._replace(delivered_at=event.at)


def _read(decision: Decision, state_before: str, attempt: AttemptState, event: Event) -> Decision:
    decision = _delivered(decision, state_before, attempt, event)
    return decision._replace(read_at=event.at, is_read=True)


CANCEL_REASONS = {
    DeliveryProof.CODE_ENTERED: FallbackReason.CODE_ENTERED,
    DeliveryProof.CLICK: FallbackReason.CLICK,
}


def _deliver_late(decision: Decision, attempt: AttemptState, proof: DeliveryProof) -> Decision:
    """Delivers late, free of charge: the hold of this attempt was released when the next one
    opened.

    Cancels the next attempt unless a provider has it; its hold then stays open for its outcome.
    """
    message = decision.message
    if decision.has_open_attempt:
        decision = decision.with_fallback_event(FallbackReason.OWED, message.channel)
        return decision._replace(message=message._replace(is_owed=True))
    reason = CANCEL_REASONS.get(proof, FallbackReason.LATE)
    decision = decision.with_fallback_event(reason, message.channel)
    return _by_channel_of(decision.settle(TransferKind.RELEASE, reason="late proof"), attempt)


def _by_channel_of(decision: Decision, attempt: AttemptState) -> Decision:
    """Shows the message as sent by the channel of this attempt, not by a later one."""
    message = decision.message
    channel = attempt.channel or message.channel
    return decision._replace(message=message._replace(channel=channel, price=attempt.price))


def _settle_owed(
    decision: Decision,
    attempt: AttemptState,
    kind: TransferKind,
    *,
    proof: str = "",
    reason: str = "",
) -> Decision:
    message = decision.message
    if not message.is_owed or attempt.hold != message.hold:
        return decision
    decision = decision.settle(kind, proof=proof, reason=reason)
    return decision._replace(message=message._replace(is_owed=False))


def _release_owed(decision: Decision, attempt: AttemptState) -> Decision:
    """Releases the owed hold, unless another attempt on the same channel is open."""
    if decision.has_open_attempt or not decision.message.is_owed:
        return decision
    decision = _settle_owed(decision, attempt, TransferKind.RELEASE, reason=attempt.state)
    delivered = next((other for other in decision.attempts if other.state == "delivered"), attempt)
    return decision if decision.message.is_owed else _by_channel_of(decision, delivered)


def _failed(decision: Decision, state_before: str, attempt: AttemptState, event: Event) -> Decision:
    message = decision.message
    if attempt.state == state_before:
        return decision
    if not _is_current(message, attempt):
        return _release_owed(decision, attempt)
    if event.can_reroute and state_before in UNACCEPTED and _has_another_try(decision):
        # Due at once by another account of the same channel, under the same hold.
        return decision._replace(message=message._replace(due_in=0.0), is_rerouted=True)
    if event.kind is EventKind.RETRY and _has_another_try(decision):
        delay = max(event.retry_after or 0.0, _backoff(attempt.n))
        if message.time_left - delay >= MIN_TIME_LEFT:
            return decision._replace(message=message._replace(due_in=delay))
    return _fall_back(decision, attempt, event)


def _has_another_try(decision: Decision) -> bool:
    is_useful = decision.message.time_left > MIN_TIME_LEFT
    return is_useful and _tries_on_channel(decision) < MAX_TRIES


def _fall_back(decision: Decision, attempt: AttemptState, event: Event) -> Decision:
    """Requests the next channel of the chain, or finishes the message without one."""
    message = decision.message
    is_unreachable = event.kind in UNREACHABLE_KINDS and _was_unreachable_before(decision)
    error = "recipient_unreachable" if is_unreachable else "delivery_failed"
    if message.chain and message.time_left > MIN_TIME_LEFT:
        request = FallbackRequest(FallbackReason.REFUSED, attempt.state, error)
        return decision._replace(fallback=request)
    return decision.finish(attempt.state, error)


def _given_up(decision: Decision, _was: str, attempt: AttemptState, _event: Event) -> Decision:
    if _is_current(decision.message, attempt):
        return decision.finish("expired", "")
    return _release_owed(decision, attempt)


def _is_current(message: MessageState, attempt: AttemptState) -> bool:
    """Whether this is the latest attempt of an open message, on its current channel.

    An attempt on an earlier channel says nothing about the next, even before the next is tried.
    """
    return message.is_open and attempt.n == message.tries and attempt.hold == message.hold


def _was_unreachable_before(decision: Decision) -> bool:
    """Whether the last attempt on every earlier channel reported the recipient as unreachable."""
    last_errors = {
        earlier.hold: earlier.error_class
        for earlier in decision.attempts
        if earlier.hold < decision.message.hold
    }
    return all(error_class in UNREACHABLE_KINDS for error_class in last_errors.values())


def _tries_on_channel(decision: Decision) -> int:
    hold = decision.message.hold
    earlier = (attempt.n for attempt in decision.attempts if attempt.hold < hold)
    return decision.message.tries - max(earlier, default=0)


def _backoff(n: int) -> float:
    """Seconds before retry `n`, with full jitter: retries of messages must not arrive together."""
    return random.uniform(0, min(RETRY_CAP, RETRY_BASE * 2**n))  # noqa: S311 - not a secret


# The effect of an event on the message, after its attempt has left the state `was`.
_REACTIONS: dict[EventKind, Callable[[Decision, str, AttemptState, Event], Decision]] = {
    EventKind.ACCEPTED: _accepted,
    EventKind.DELIVERED: _delivered,
    EventKind.READ: _read,
    EventKind.UNREACHABLE: _failed,
    EventKind.BARRED: _failed,
    EventKind.REFUSED: _failed,
    EventKind.RETRY: _failed,
    EventKind.EXPIRED: _failed,
    EventKind.GIVEN_UP: _given_up,
}
