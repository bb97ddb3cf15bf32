"""Decisions about the fallback chain of a message. Pure: no database, no clock."""

from collections.abc import Set

from billing.wallet.ledger import HoldMove
from channels.lifecycle.snapshots import (
    Decision,
    FallbackReason,
    FallbackRequest,
    MessageState,
    Snapshot,
    unchanged_decision,
)
from channels.lifecycle.state_machine import MIN_TIME_LEFT
from channels.phone_numbers import country_of


def expire_patience(snapshot: Snapshot) -> Decision:
    """Requests a fallback because no proof arrived in time, whatever the attempt's state."""
    decision = unchanged_decision(snapshot)
    message = snapshot.message
    if not message.is_open or not message.chain:
        return decision
    if message.time_left > MIN_TIME_LEFT:
        return decision._replace(fallback=FallbackRequest(FallbackReason.PATIENCE))
    return _end_chain(decision, FallbackReason.TIME)


def take_next_step(snapshot: Snapshot) -> Decision:
    """Requests the next channel as if the patience of the present one had ended. Does nothing if no
    step or too little time is left, or if a vendor may have the message: the step would return its
    tokens, so its late delivery would charge nothing, whatever becomes of the next channel.
    """
    decision = unchanged_decision(snapshot)
    message = snapshot.message
    if not message.is_open or not message.chain or message.time_left <= MIN_TIME_LEFT:
        return decision
    if snapshot.has_open_attempt:
        return decision
    return decision._replace(fallback=FallbackRequest(FallbackReason.REQUESTED))


def skip_channels(
    decision: Decision, request: FallbackRequest, channels: Set[str], *, is_delivered: bool
) -> Decision:
    """Removes the steps by the channels of newer messages; without steps there is no fallback.

    If a newer message `is_delivered`, only a requested step is needed.
    """
    if is_delivered and request.reason is not FallbackReason.REQUESTED:
        return reject_fallback(decision, request, FallbackReason.LATE)
    dropped = [step for step in decision.message.chain if step.channel in channels]
    chain = tuple(step for step in decision.message.chain if step.channel not in channels)
    if not chain:
        return reject_fallback(decision, request, FallbackReason.SENT_BY_NEWER)
    for step in dropped:
        decision = decision.with_fallback_event(FallbackReason.SENT_BY_NEWER, step.channel)
    return decision._replace(message=decision.message._replace(chain=chain))


def hold_move(message: MessageState, request: FallbackRequest) -> HoldMove:
    """The exchange of holds that the wallet must pay for."""
    return HoldMove(
        company_id=message.company_id,
        message_id=message.id,
        hold=message.hold,
        old_price=message.price,
        new_price=message.chain[0].price,
        reason=request.reason.value,
        country=country_of(message.phone),
        api_key_id=message.api_key_id,
    )


def accept_fallback(decision: Decision, request: FallbackRequest) -> Decision:
    """Switches to the next channel, whose hold is paid.

    The message keeps its state: `sent` never returns to `queued`.
    """
    message = decision.message
    step, *rest = message.chain
    patience = FallbackReason.PATIENCE.value
    for attempt in decision.attempts:
        if attempt.is_open:
            expired = attempt._replace(state="expired", error_class=patience, error_code=patience)
            decision = decision.with_attempt(attempt, expired)
    switched = message._replace(
        channel=step.channel, price=step.price, hold=message.hold + 1, chain=tuple(rest), due_in=0.0
    )
    decision = decision.with_fallback_event(request.reason, step.channel)
    return decision._replace(message=switched, fallback=None, patience=step.patience)


def reject_fallback(
    decision: Decision, request: FallbackRequest, reason: FallbackReason = FallbackReason.TOKENS
) -> Decision:
    """Skips the next step, for example because the wallet cannot pay: an open attempt continues, a
    failed one ends the message. If the step was only requested, the message stays as it was, unless
    newer messages use all its channels: then it has no fallback left.
    """
    if request.reason is FallbackReason.REQUESTED and reason is not FallbackReason.SENT_BY_NEWER:
        return unchanged_decision(decision.before)
    if request.reason is not FallbackReason.REFUSED:
        return _end_chain(decision, reason)
    decision = decision.with_fallback_event(reason, decision.message.chain[0].channel)
    return decision.finish(request.state, request.error)


def cancel_fallback(decision: Decision, reason: FallbackReason) -> Decision:
    """Cancels later channels, for example because the recipient has used the code or link.

    An entered code also ends a message that no vendor has: nobody needs it, and it would be
    charged.
    """
    message = decision.message
    if not message.is_open:
        return decision
    is_unsent = message.due_in is not None and not decision.has_open_attempt
    if is_unsent and (message.hold > 1 or reason is FallbackReason.CODE_ENTERED):
        decision = _without_chain(decision.with_fallback_event(reason, message.channel))
        return decision.finish("expired", "", reason=reason.value)
    return _end_chain(decision, reason) if message.chain else decision


def cancel(snapshot: Snapshot, reason: FallbackReason) -> Decision:
    """Ends a message that no vendor has; otherwise cancels its fallback and awaits its outcome."""
    decision = unchanged_decision(snapshot)
    if not snapshot.message.is_open or decision.has_open_attempt:
        return cancel_fallback(decision, reason)
    decision = _without_chain(decision.with_fallback_event(reason, snapshot.message.channel))
    if reason is FallbackReason.BLOCKED:
        return decision.finish("failed", "recipient_unreachable", reason=reason.value)
    return decision.finish("expired", "", reason=reason.value)


def _end_chain(decision: Decision, reason: FallbackReason) -> Decision:
    return _without_chain(decision.with_fallback_event(reason, decision.message.chain[0].channel))


def _without_chain(decision: Decision) -> Decision:
    return decision._replace(message=decision.message._replace(chain=()), fallback=None)
