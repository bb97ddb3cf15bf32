"""Chooses the plan with the least expected tokens that is as sure and as quick as SMS first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations

from channels.routing.smart.plans import (
    LAST,
    Candidate,
    Curve,
    Forecast,
    expected_tokens,
    forecast,
    p95,
)

LOSS_ALLOWED = 0.01  # of the verified rate within 90 s, against SMS first
SLOWER_ALLOWED = 1.2  # times the p95 of SMS first
PATIENCES = (3, 5, 7, 10, 13, 17, 22, 30, 45)  # seconds
LONG_PATIENCES = (5, 9, 16)  # of each of two messengers before SMS
FAILING = 0.8  # SMS that verifies a smaller part of what the best plan does is no measure
GREATEST_SPREAD = 0.05
HOPELESS = 0.1  # a messenger that delivers less often is not worth its delay before SMS

Steps = Sequence[tuple[Candidate, int | None]]


@dataclass(frozen=True, slots=True)
class Choice:
    best: Forecast
    sms_first: Forecast | None
    alternatives: tuple[Forecast, ...]  # other orders, cheapest first, that were not chosen
    is_as_good_as_sms: bool


@lru_cache(maxsize=2_000)
def choose(candidates: tuple[Candidate, ...], stays: Curve, sms: str = "sms") -> Choice:
    """The order of the candidates does not matter. At least one is needed."""
    text = next((one for one in candidates if one.channel == sms), None)
    bound = min(LAST, int(SLOWER_ALLOWED * p95(text))) if text is not None else LAST
    messengers = sorted(
        (
            one
            for one in candidates
            if one is not text and (text is None or one.delivered >= HOPELESS)
        ),
        key=lambda one: (one.price, -one.delivered, one.proof[5], one.channel),
    )
    plans = sorted(_sequences(messengers, text), key=expected_tokens)
    if text is None:
        return _surest_choice(plans, stays, bound)
    first = forecast([(text, None)], stays, bound)
    bar = first.verified - LOSS_ALLOWED
    if first.verified < FAILING:  # only then can another plan be so much surer
        best = max((forecast(one, stays, bound) for one in plans), key=_surest)
        if first.verified < FAILING * best.verified:
            bar = best.verified - GREATEST_SPREAD
    seen: list[Forecast] = []
    for sequence in plans:
        one = forecast(sequence, stays, bound)
        if one.verified >= bar and _is_quick(one, first):
            return Choice(one, first, _others([*seen, first], one), is_as_good_as_sms=True)
        seen.append(one)
    return replace(_surest_choice(plans, stays, bound), sms_first=first)


def _surest_choice(plans: Sequence[Steps], stays: Curve, bound: int) -> Choice:
    forecasts = [forecast(one, stays, bound) for one in plans]
    best = max(forecasts, key=_surest)
    return Choice(best, None, _others(forecasts, best), is_as_good_as_sms=False)


def _sequences(messengers: Sequence[Candidate], text: Candidate | None) -> Iterator[Steps]:
    """A messenger that reached the phone is not kept waiting behind one that never did."""
    proved = [one for one in messengers if one.is_proved]
    for sequence in _all_sequences(messengers, text):
        first = sequence[0][0]
        if first is text or first.is_proved or not proved:
            yield sequence


def _all_sequences(messengers: Sequence[Candidate], text: Candidate | None) -> Iterator[Steps]:
    last: list[tuple[Candidate, int | None]] = [] if text is None else [(text, None)]
    if text is not None:
        yield last
    for one in messengers:
        if text is None:
            yield [(one, None)]
            continue
        for patience in PATIENCES:
            yield [(one, patience), *last]
    for one, two in permutations(messengers[:4], 2):
        for patience in LONG_PATIENCES:
            if text is None:
                yield [(one, patience), (two, None)]
                continue
            for second in LONG_PATIENCES:
                yield [(one, patience), (two, second), *last]


def _is_quick(one: Forecast, first: Forecast) -> bool:
    return one.plan == first.plan or one.in_time >= min(0.95, first.in_time)


def _surest(one: Forecast) -> tuple[float, float]:
    return one.verified, -one.tokens


def _cheapest(one: Forecast) -> tuple[float, float]:
    return one.tokens, -one.verified


def _others(plans: Sequence[Forecast], chosen: Forecast) -> tuple[Forecast, ...]:
    by_order: dict[tuple[str, ...], Forecast] = {}
    for one in sorted(plans, key=_cheapest):
        order = tuple(step.channel for step in one.plan)
        if order != tuple(step.channel for step in chosen.plan):
            by_order.setdefault(order, one)
    return tuple(by_order.values())[:3]
