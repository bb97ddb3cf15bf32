"""Plans, and what one is expected to cost and to bring. Pure arithmetic over learned curves."""

from collections.abc import Sequence
from dataclasses import dataclass

from channels.routing.smart.time_histogram import SECONDS, quantile

Curve = tuple[float, ...]  # a value for each second from 0
HORIZON = 90  # seconds within which a verification counts
LAST = SECONDS - 1
REFUSAL_DELAY = 1  # seconds until a refusal "at once" has started the next step


@dataclass(frozen=True, slots=True)
class Step:
    channel: str
    patience: int | None  # seconds without proof until the next step; None: the last step


Plan = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A channel as it would do for one phone."""

    channel: str
    price: int
    delivered: float  # probability, if it is asked first
    delivered_after: float  # if another messenger has just failed
    told: float  # share of what is not delivered that is refused at once
    proof: Curve  # share of deliveries that are proved by each second
    code: Curve  # share of right codes that are entered by each second from the hand-over
    half: int = 3  # seconds by which half of the deliveries are proved
    is_proved: bool = False  # it reached this phone


@dataclass(frozen=True, slots=True)
class Forecast:
    plan: Plan
    tokens: float  # expected of one send
    verified: float  # probability within HORIZON
    in_time: float  # of those ever verified, the share within the given p95 bound


def forecast(
    sequence: Sequence[tuple[Candidate, int | None]], stays: Curve, bound: int
) -> Forecast:
    """`stays`: the probability that a code which arrives at that second is ever entered right."""
    plan = tuple(Step(candidate.channel, patience) for candidate, patience in sequence)
    total = _verified(sequence, 0, 0, LAST, stays)
    return Forecast(
        plan=plan,
        tokens=_tokens(sequence, 0),
        verified=_verified(sequence, 0, 0, HORIZON, stays),
        in_time=_verified(sequence, 0, 0, bound, stays) / total if total > 0 else 0.0,
    )


def expected_tokens(sequence: Sequence[tuple[Candidate, int | None]]) -> float:
    return _tokens(sequence, 0)


def p95(candidate: Candidate) -> int:
    return quantile(candidate.code, 0.95)


def _rate(candidate: Candidate, index: int) -> float:
    return candidate.delivered_after if index else candidate.delivered


def _verified(
    sequence: Sequence[tuple[Candidate, int | None]], index: int, start: int, by: int, stays: Curve
) -> float:
    """The probability of a right code by that second from the steps that are left."""
    if index >= len(sequence) or start >= by:
        return 0.0
    candidate, patience = sequence[index]
    rate = _rate(candidate, index)
    arrival = min(LAST, start + candidate.half)
    own = rate * stays[arrival] * candidate.code[min(LAST, by - start)]
    if patience is None:
        return own
    told = (1 - rate) * candidate.told
    waits = (1 - rate) * (1 - candidate.told)
    refused = _verified(sequence, index + 1, start + REFUSAL_DELAY, by, stays) if told else 0.0
    return (
        own + told * refused + waits * _verified(sequence, index + 1, start + patience, by, stays)
    )


def _tokens(sequence: Sequence[tuple[Candidate, int | None]], index: int) -> float:
    """A step is charged if it is proved before the next begins; a late proof is free."""
    candidate, patience = sequence[index]
    rate = _rate(candidate, index)
    if patience is None:
        return candidate.price * rate
    proved = rate * candidate.proof[patience]
    return candidate.price * proved + (1 - proved) * _tokens(sequence, index + 1)


def half(curve: Curve) -> int:
    """The median; curves begin steep, so a scan is quick."""
    return next((second for second, value in enumerate(curve) if value >= 0.5), LAST)
