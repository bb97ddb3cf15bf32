"""On along a message's chain of channels, no further, or no more. Pure: no database, no clock."""

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
    """No proof in the time that its channel was given, whatever became of the try there."""
    if message.state not in OPEN_MESSAGE or not message.chain:
        return
    if message.time_left > MIN_TIME_LEFT:
        message.wish = FallbackRequest(FallbackReason.PATIENCE)
        message.changed = True
    else:
        _end_chain(message, FallbackReason.TIME)


def hold_move(message: MessageState, wish: FallbackRequest) -> HoldMove:
    """What the wallet is asked for."""
    return HoldMove(
        company_id=message.company_id,
        message_id=message.id,
        hold=message.hold,
        old=message.price,
        new=message.chain[0].price,
        reason=wish.why.value,
        country=country_of(message.phone),
    )


def accept_fallback(message: MessageState, wish: FallbackRequest) -> None:
    """Paid: in the state it is in, for `sent` never goes back to `queued`."""
    step, *message.chain = message.chain
    message.turns.append((wish.why, step.channel))
    for attempt in message.attempts:
        if attempt.state in OPEN_ATTEMPT:
            attempt.state = "expired"
            attempt.error_class = attempt.error_code = FallbackReason.PATIENCE.value
            attempt.changed = True
    message.channel, message.price = step.channel, step.price
    message.hold += 1
    message.due_in, message.fallback_in = 0.0, step.patience
    message.has_gone_on = message.changed = True


def reject_fallback(
    message: MessageState, wish: FallbackRequest, why: FallbackReason = FallbackReason.TOKENS
) -> None:
    """The wallet does not pay: a try that is open goes on, one that failed was the last."""
    if wish.why is FallbackReason.PATIENCE:
        _end_chain(message, why)
    else:
        message.turns.append((why, message.chain[0].channel))
        finish(message, wish.state, wish.error)


def cancel_fallback(message: MessageState, why: FallbackReason) -> None:
    """What it carried has been used: nothing of it is sent any more by channels still to come."""
    if message.state not in OPEN_MESSAGE:
        return
    if message.hold > 1 and message.due_in is not None and message.open_attempt is None:
        message.turns.append((why, message.channel))
        message.chain = []
        finish(message, "expired", "", reason=why.value)
    elif message.chain:
        _end_chain(message, why)


def _end_chain(message: MessageState, why: FallbackReason) -> None:
    message.turns.append((why, message.chain[0].channel))
    message.chain = []
    message.changed = True
