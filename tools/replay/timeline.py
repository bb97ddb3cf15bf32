"""What comes of one send by one plan: the product's own rules of fallback and of charging.

A step begins when the one before is refused or its patience ends without proof, and not at all
once there is proof: a receipt or a right code. Its hold replaces the earlier one, so only the last
step that began can be charged; a late proof of an earlier one is free. A right code charges the
last step if no receipt came before.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from channels.routing.smart.plans import Plan
from tools.replay.population import Send
from tools.replay.world import SMS, World

REFUSAL_SECONDS = 0.5
LIFETIME = 300.0  # of a code
FIRST_PROMPT = 60.0


@dataclass(slots=True)
class Played:
    """Seconds from the send on; infinite where it never happens."""

    channel: str
    account: str
    start: float
    barred: bool = False
    refused: float = math.inf
    arrives: float = math.inf
    receipt: float = math.inf
    patience_ends: float = math.inf


@dataclass(slots=True)
class Outcome:
    steps: list[Played] = field(default_factory=list)
    arrives: float = math.inf
    verified: float = math.inf
    tokens: int = 0


def play(
    world: World,
    send: Send,
    plan: Plan,
    prices: Mapping[str, int],
    accounts: Mapping[str, str] | None = None,
) -> Outcome:
    outcome = Outcome()
    start, proof = 0.0, math.inf
    for step in plan:
        if start >= min(proof, outcome.verified) or start > LIFETIME - 30:
            break
        account = (accounts or {}).get(step.channel) or account_of(world, send, step.channel)
        played = ask(world, send, step.channel, account, start)
        outcome.steps.append(played)
        proof = min(proof, played.receipt)
        _enter(send, outcome, played)
        if step.patience is None:
            break
        played.patience_ends = start + step.patience
        start = min(played.refused, played.patience_ends)
    outcome.tokens = _tokens(outcome, prices)
    return outcome


def account_of(world: World, send: Send, channel: str) -> str:
    """By the resting shares."""
    items = world.accounts.get(channel, ())
    point = send.luck[channel].account * sum(one.share for one in items)
    for one in items:
        point -= one.share
        if point < 0:
            return one.name
    return items[-1].name if items else ""


def ask(world: World, send: Send, channel: str, account: str, start: float) -> Played:
    """What one channel does with the send, from when it was asked."""
    luck, person = send.luck[channel], send.person
    how = world.behaviour(channel, person.place, account, send.at + start)
    played = Played(channel, account, start)
    barred = channel == SMS and person.bars_sms
    there = not person.wrong_number and not barred if channel == SMS else channel in person.reach
    if not there:
        if luck.tells < how.tells_unreachable:
            played.refused = start + REFUSAL_SECONDS
            played.barred = barred
    elif luck.lost >= how.lost:
        played.arrives = start + how.median * math.exp(how.sigma * luck.latency)
        if luck.receipt < how.receipts:
            played.receipt = played.arrives
    return played


def _enter(send: Send, outcome: Outcome, played: Played) -> None:
    if played.arrives >= outcome.arrives:
        return
    outcome.arrives = played.arrives
    entered = played.arrives + send.typing
    stays = played.arrives <= send.gives_up and not send.never_right
    outcome.verified = entered if stays and entered <= LIFETIME else math.inf


def _tokens(outcome: Outcome, prices: Mapping[str, int]) -> int:
    last = outcome.steps[-1]
    if last.receipt < math.inf:
        return prices[last.channel]
    receipts = [played.receipt for played in outcome.steps]
    is_proved_by_code = outcome.verified < min(receipts)
    return prices[last.channel] if is_proved_by_code else 0
