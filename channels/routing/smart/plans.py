"""Plans: their expected costs and verifications, and the choice among them.

Pure arithmetic over learned curves. The plan with the fewest expected tokens wins among those that
verify as often and as quickly as SMS first.
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
    immediate_refusals: float  # share of the undelivered sends
    proof: Curve  # share of deliveries proved by each second
    code: Curve  # share of correct codes entered by each second after the hand-over
    median_seconds: int = 3  # seconds by which half of the deliveries are proved
    is_proved: bool = False  # whether it reached this phone


Steps = Sequence[tuple[Candidate, int | None]]  # with the patience of each


@dataclass(frozen=True, slots=True)
class Forecast:
    plan: Plan
    tokens: float  # expected tokens of one send
    verified: float  # probability of a verification within HORIZON
    in_time: float  # share of verifications within the given p95 bound


def forecast(sequence: Steps, waiting: Curve, bound: int) -> Forecast:
    """Forecasts a plan. `waiting`: the share of people who enter a code arriving at that second."""
    plan = tuple(PlanStep(candidate.channel, patience) for candidate, patience in sequence)
    total = _verified(sequence, 0, 0, LAST, waiting)
    return Forecast(
        plan=plan,
        tokens=_tokens(sequence, 0),
        verified=_verified(sequence, 0, 0, HORIZON, waiting),
        in_time=_verified(sequence, 0, 0, bound, waiting) / total if total > 0 else 0.0,
    )


def expected_tokens(sequence: Steps) -> float:
    return _tokens(sequence, 0)


def p95(candidate: Candidate) -> int:
    return quantile(candidate.code, 0.95)


def _verified(sequence: Steps, index: int, start: int, by: int, waiting: Curve) -> float:
    """The probability of a correct code by that second from the remaining steps."""
    if index >= len(sequence) or start >= by:
        return 0.0
    candidate, patience = sequence[index]
    rate = candidate.delivered_after if index else candidate.delivered
    arrival = min(LAST, start + candidate.median_seconds)
    verified = rate * waiting[arrival] * candidate.code[min(LAST, by - start)]
    if patience is None:
        return verified
    denied = (1 - rate) * candidate.immediate_refusals
    waits = (1 - rate) * (1 - candidate.immediate_refusals)
    refused = _verified(sequence, index + 1, start + REFUSAL_DELAY, by, waiting) if denied else 0.0
    following = _verified(sequence, index + 1, start + patience, by, waiting)
    return verified + denied * refused + waits * following


def _tokens(sequence: Steps, index: int) -> float:
    """The expected tokens of the steps from `index` on.

    A step is charged if it is proved before the next begins; a late proof is free.
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
MIN_SMS_RATIO = 0.8  # with a smaller part of the best plan's share, SMS sets no limit
MAX_SPREAD = 0.05
MIN_DELIVERY_RATE = 0.1  # below it a messenger is not worth its delay before SMS


@dataclass(frozen=True, slots=True)
class Choice:
    best: Forecast
    alternatives: tuple[Forecast, ...]  # rejected orders, cheapest first


@lru_cache(maxsize=2_000)
def choose(candidates: tuple[Candidate, ...], waiting: Curve, sms_channel: str = "sms") -> Choice:
    """Chooses a plan. The order of the candidates does not matter. At least one is needed."""
    sms = next((candidate for candidate in candidates if candidate.channel == sms_channel), None)
    bound = min(LAST, int(SLOWER_ALLOWED * p95(sms))) if sms is not None else LAST
    messengers = sorted(
        (
            candidate
            for candidate in candidates
            if candidate is not sms and (sms is None or candidate.delivered >= MIN_DELIVERY_RATE)
        ),
        key=lambda each: (each.price, -each.delivered, each.proof[5], each.channel),
    )
    plans = sorted(_sequences(messengers, sms), key=expected_tokens)
    if sms is None:
        return _most_verified(plans, waiting, bound)
    sms_only = forecast([(sms, None)], waiting, bound)
    min_verified = sms_only.verified - LOSS_ALLOWED
    if sms_only.verified < MIN_SMS_RATIO:  # otherwise no plan can verify so much more
        best = max((forecast(plan, waiting, bound) for plan in plans), key=_highest_verified)
        if sms_only.verified < MIN_SMS_RATIO * best.verified:
            min_verified = best.verified - MAX_SPREAD
    forecasts: list[Forecast] = []
    for sequence in plans:
        plan = forecast(sequence, waiting, bound)
        if plan.verified >= min_verified and _is_quick(plan, sms_only):
            return Choice(plan, _alternatives([*forecasts, sms_only], plan))
        forecasts.append(plan)
    return _most_verified(plans, waiting, bound)


def _most_verified(plans: Sequence[Steps], waiting: Curve, bound: int) -> Choice:
    forecasts = [forecast(plan, waiting, bound) for plan in plans]
    best = max(forecasts, key=_highest_verified)
    return Choice(best, _alternatives(forecasts, best))


def _sequences(messengers: Sequence[Candidate], sms: Candidate | None) -> Iterator[Steps]:
    """The orders to compare: a messenger that reached the phone precedes those that did not."""
    proved = [candidate for candidate in messengers if candidate.is_proved]
    for sequence in _all_sequences(messengers, sms):
        first = sequence[0][0]
        if first is sms or first.is_proved or not proved:
            yield sequence


def _all_sequences(messengers: Sequence[Candidate], sms: Candidate | None) -> Iterator[Steps]:
    last: list[tuple[Candidate, int | None]] = [] if sms is None else [(sms, None)]
    if sms is not None:
        yield last
    for messenger in messengers:
        if sms is None:
            yield [(messenger, None)]
            continue
        for patience in PATIENCES:
            yield [(messenger, patience), *last]
    for first, then in permutations(messengers[:4], 2):
        for patience in LONG_PATIENCES:
            if sms is None:
                yield [(first, patience), (then, None)]
                continue
            for second in LONG_PATIENCES:
                yield [(first, patience), (then, second), *last]


def _is_quick(choice: Forecast, sms_only: Forecast) -> bool:
    return choice.plan == sms_only.plan or choice.in_time >= min(0.95, sms_only.in_time)


def _highest_verified(plan: Forecast) -> tuple[float, float]:
    return plan.verified, -plan.tokens


def _cheapest(plan: Forecast) -> tuple[float, float]:
    return plan.tokens, -plan.verified


def _alternatives(plans: Sequence[Forecast], choice: Forecast) -> tuple[Forecast, ...]:
    by_order: dict[tuple[str, ...], Forecast] = {}
    for cheapest in sorted(plans, key=_cheapest):
        order = tuple(step.channel for step in cheapest.plan)
        if order != tuple(step.channel for step in choice.plan):
            by_order.setdefault(order, cheapest)
    return tuple(by_order.values())[:3]
