"""On along a message's chain of channels, no further, or no more. Pure: no database, no clock."""

from billing.wallet.ledger import Move
from channels.lifecycle.state_machine import LEAST_TIME, OPEN_ATTEMPT, OPEN_MESSAGE, Message, finish
from channels.lifecycle.steps import Why, Wish
from channels.phone_numbers import country_of


def lose_patience(message: Message) -> None:
    """No proof in the time that its channel was given, whatever became of the try there."""
    if message.state not in OPEN_MESSAGE or not message.chain:
        return
    if message.time_left > LEAST_TIME:
        message.wish = Wish(Why.PATIENCE)
        message.changed = True
    else:
        _go_no_further(message, Why.TIME)


def move_of(message: Message, wish: Wish) -> Move:
    """What the wallet is asked for."""
    return Move(
        company_id=message.company_id,
        message_id=message.id,
        hold=message.hold,
        old=message.price,
        new=message.chain[0].price,
        reason=wish.why.value,
        country=country_of(message.phone),
    )


def go_on(message: Message, wish: Wish) -> None:
    """Paid: in the state it is in, for `sent` never goes back to `queued`."""
    step, *message.chain = message.chain
    message.turns.append((wish.why, step.channel))
    for attempt in message.attempts:
        if attempt.state in OPEN_ATTEMPT:
            attempt.state = "expired"
            attempt.error_class = attempt.error_code = Why.PATIENCE.value
            attempt.changed = True
    message.channel, message.price = step.channel, step.price
    message.hold += 1
    message.due_in, message.fallback_in = 0.0, step.patience
    message.has_gone_on = message.changed = True


def stay(message: Message, wish: Wish, why: Why = Why.TOKENS) -> None:
    """The wallet does not pay: a try that is open goes on, one that failed was the last."""
    if wish.why is Why.PATIENCE:
        _go_no_further(message, why)
    else:
        message.turns.append((why, message.chain[0].channel))
        finish(message, wish.state, wish.error)


def call_off(message: Message, why: Why) -> None:
    """What it carried has been used: nothing of it is sent any more by channels still to come."""
    if message.state not in OPEN_MESSAGE:
        return
    if message.hold > 1 and message.due_in is not None and message.open_attempt is None:
        message.turns.append((why, message.channel))
        message.chain = []
        finish(message, "expired", "", reason=why.value)
    elif message.chain:
        _go_no_further(message, why)


def _go_no_further(message: Message, why: Why) -> None:
    message.turns.append((why, message.chain[0].channel))
    message.chain = []
    message.changed = True
