"""Decisions about the fallback chain of a message. Pure: no database, no clock."""

from billing.wallet.ledger import HoldMove
from channels.lifecycle.state_machine import (
    MIN_TIME_LEFT,
    OPEN_ATTEMPT,
    OPEN_MESSAGE,
    MessageState,
    finish,
)
from channels.lifecycle.steps import FallbackReason, FallbackRequest
from channels.phone_numbers import country_of


def expire_patience(message: MessageState) -> None:
    """Requests a fallback because no proof came in time, whatever the attempt's state."""
    if message.state not in OPEN_MESSAGE or not message.chain:
        return
    if message.time_left > MIN_TIME_LEFT:
        message.fallback_request = FallbackRequest(FallbackReason.PATIENCE)
        message.changed = True
    else:
        _end_chain(message, FallbackReason.TIME)


def hold_move(message: MessageState, request: FallbackRequest) -> HoldMove:
    """The exchange of holds that the wallet must approve."""
    return HoldMove(
        company_id=message.company_id,
        message_id=message.id,
        hold=message.hold,
        old=message.price,
        new=message.chain[0].price,
        reason=request.reason.value,
        country=country_of(message.phone),
    )


def accept_fallback(message: MessageState, request: FallbackRequest) -> None:
    """Switches to the next channel, whose hold is paid.

    The message keeps its state: `sent` never returns to `queued`.
    """
    step, *message.chain = message.chain
    message.fallback_events.append((request.reason, step.channel))
    for attempt in message.attempts:
        if attempt.state in OPEN_ATTEMPT:
            attempt.state = "expired"
            attempt.error_class = attempt.error_code = FallbackReason.PATIENCE.value
            attempt.changed = True
    message.channel, message.price = step.channel, step.price
    message.hold += 1
    message.due_in, message.fallback_in = 0.0, step.patience
    message.has_switched_channel = message.changed = True


def reject_fallback(
    message: MessageState, request: FallbackRequest, reason: FallbackReason = FallbackReason.TOKENS
) -> None:
    """The wallet does not pay: an open attempt continues, a failed one ends the message."""
    if request.reason is FallbackReason.PATIENCE:
        _end_chain(message, reason)
    else:
        message.fallback_events.append((reason, message.chain[0].channel))
        finish(message, request.state, request.error)


def cancel_fallback(message: MessageState, reason: FallbackReason) -> None:
    """Sends nothing by later channels: the recipient has used the code or link."""
    if message.state not in OPEN_MESSAGE:
        return
    if message.hold > 1 and message.due_in is not None and message.open_attempt is None:
        message.fallback_events.append((reason, message.channel))
        message.chain = []
        finish(message, "expired", "", reason=reason.value)
    elif message.chain:
        _end_chain(message, reason)


def _end_chain(message: MessageState, reason: FallbackReason) -> None:
    message.fallback_events.append((reason, message.chain[0].channel))
    message.chain = []
    message.changed = True
