"""Plans: their expected costs and verifications, and the choice among them.

Pure arithmetic over learned curves. The plan with the fewest expected tokens wins among plans that
are as sure and as quick as SMS first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

from channels.routing.smart.decay import SECONDS, quantile

Curve = tuple[float, ...]  # a value for each second from 0
HORIZON = 90  # seconds within which a verification counts
LAST = SECONDS - 1
REFUSAL_DELAY = 1  # seconds until an immediate refusal has started the next step


@dataclass(frozen=True, slots=True)
class PlanStep:
    channel: str
    patience: int | None  # seconds without proof until the next step; None: the last step


Plan = tuple[PlanStep, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A channel's expected performance for one phone."""

    channel: str
    price: int
    delivered: float  # probability if it is asked first
    delivered_after: float  # probability if another messenger has just failed
    refused_at_once: float  # share of the undelivered sends
    proof: Curve  # share of deliveries proved by each second
    code: Curve  # share of right codes entered by each second after the hand-over
    median_seconds: int = 3  # seconds by which half of the deliveries are proved
    is_proved: bool = False  # whether it reached this phone


@dataclass(frozen=True, slots=True)
class Forecast:
    plan: Plan
    tokens: float  # expected tokens of one send
    verified: float  # probability of a verification within HORIZON
    in_time: float  # share of verifications within the given p95 bound


def forecast(
    sequence: Sequence[tuple[Candidate, int | None]], stays: Curve, bound: int
) -> Forecast:
    """Forecasts a plan. `stays`: the probability that a code arriving at
    that second is ever entered.
    """
    plan = tuple(PlanStep(candidate.channel, patience) for candidate, patience in sequence)
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


def _verified(
    sequence: Sequence[tuple[Candidate, int | None]], index: int, start: int, by: int, stays: Curve
) -> float:
    """The probability of a right code by that second from the remaining steps."""
    if index >= len(sequence) or start >= by:
        return 0.0
    candidate, patience = sequence[index]
    rate = candidate.delivered_after if index else candidate.delivered
    arrival = min(LAST, start + candidate.median_seconds)
    verified = rate * stays[arrival] * candidate.code[min(LAST, by - start)]
    if patience is None:
        return verified
    denied = (1 - rate) * candidate.refused_at_once
    waits = (1 - rate) * (1 - candidate.refused_at_once)
    refused = _verified(sequence, index + 1, start + REFUSAL_DELAY, by, stays) if denied else 0.0
    following = _verified(sequence, index + 1, start + patience, by, stays)
    return verified + denied * refused + waits * following


def _tokens(sequence: Sequence[tuple[Candidate, int | None]], index: int) -> float:
    """Expected tokens. A step is charged if it is proved before the next
    begins; a late proof is free.
    """
    candidate, patience = sequence[index]
    rate = candidate.delivered_after if index else candidate.delivered
    if patience is None:
        return candidate.price * rate
    proved = rate * candidate.proof[patience]
    return candidate.price * proved + (1 - proved) * _tokens(sequence, index + 1)


def median(curve: Curve) -> int:
    """The median, found by a scan: curves begin steep."""
    return next((second for second, value in enumerate(curve) if value >= 0.5), LAST)


LOSS_ALLOWED = 0.01  # of the verified rate within 90 s that SMS first would have
SLOWER_ALLOWED = 1.2  # factor of the p95 of SMS first
PATIENCES = (3, 5, 7, 10, 13, 17, 22, 30, 45)  # seconds
LONG_PATIENCES = (5, 9, 16)  # seconds, of each of two messengers before SMS
FAILING = 0.8  # SMS is no measure if it verifies a smaller part of the best plan's share
MAX_SPREAD = 0.05
HOPELESS = 0.1  # a messenger that delivers less often is not worth its delay before SMS

Steps = Sequence[tuple[Candidate, int | None]]


@dataclass(frozen=True, slots=True)
class Choice:
    best: Forecast
    alternatives: tuple[Forecast, ...]  # rejected orders, cheapest first


@lru_cache(maxsize=2_000)
def choose(candidates: tuple[Candidate, ...], stays: Curve, sms: str = "sms") -> Choice:
    """Chooses a plan. The order of the candidates does not matter. At least one is needed."""
    text = next((item for item in candidates if item.channel == sms), None)
    bound = min(LAST, int(SLOWER_ALLOWED * p95(text))) if text is not None else LAST
    messengers = sorted(
        (
            item
            for item in candidates
            if item is not text and (text is None or item.delivered >= HOPELESS)
        ),
        key=lambda item: (item.price, -item.delivered, item.proof[5], item.channel),
    )
    plans = sorted(_sequences(messengers, text), key=expected_tokens)
    if text is None:
        return _surest_choice(plans, stays, bound)
    first = forecast([(text, None)], stays, bound)
    bar = first.verified - LOSS_ALLOWED
    if first.verified < FAILING:  # otherwise no other plan can be so much surer
        best = max((forecast(plan, stays, bound) for plan in plans), key=_surest)
        if first.verified < FAILING * best.verified:
            bar = best.verified - MAX_SPREAD
    forecasts: list[Forecast] = []
    for sequence in plans:
        plan = forecast(sequence, stays, bound)
        if plan.verified >= bar and _is_quick(plan, first):
            return Choice(plan, _others([*forecasts, first], plan))
        forecasts.append(plan)
    return _surest_choice(plans, stays, bound)


def _surest_choice(plans: Sequence[Steps], stays: Curve, bound: int) -> Choice:
    forecasts = [forecast(plan, stays, bound) for plan in plans]
    best = max(forecasts, key=_surest)
    return Choice(best, _others(forecasts, best))


def _sequences(messengers: Sequence[Candidate], text: Candidate | None) -> Iterator[Steps]:
    """The orders to compare. A messenger that reached the phone never
    waits behind one that did not.
    """
    proved = [item for item in messengers if item.is_proved]
    for sequence in _all_sequences(messengers, text):
        first = sequence[0][0]
        if first is text or first.is_proved or not proved:
            yield sequence


def _all_sequences(messengers: Sequence[Candidate], text: Candidate | None) -> Iterator[Steps]:
    last: list[tuple[Candidate, int | None]] = [] if text is None else [(text, None)]
    if text is not None:
        yield last
    for messenger in messengers:
        if text is None:
            yield [(messenger, None)]
            continue
        for patience in PATIENCES:
            yield [(messenger, patience), *last]
    for first, then in permutations(messengers[:4], 2):
        for patience in LONG_PATIENCES:
            if text is None:
                yield [(first, patience), (then, None)]
                continue
            for second in LONG_PATIENCES:
                yield [(first, patience), (then, second), *last]


def _is_quick(choice: Forecast, first: Forecast) -> bool:
    return choice.plan == first.plan or choice.in_time >= min(0.95, first.in_time)


def _surest(plan: Forecast) -> tuple[float, float]:
    return plan.verified, -plan.tokens


def _cheapest(plan: Forecast) -> tuple[float, float]:
    return plan.tokens, -plan.verified


def _others(plans: Sequence[Forecast], choice: Forecast) -> tuple[Forecast, ...]:
    by_order: dict[tuple[str, ...], Forecast] = {}
    for cheapest in sorted(plans, key=_cheapest):
        order = tuple(step.channel for step in cheapest.plan)
        if order != tuple(step.channel for step in choice.plan):
            by_order.setdefault(order, cheapest)
    return tuple(by_order.values())[:3]
