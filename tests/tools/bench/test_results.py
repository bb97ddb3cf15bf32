"""The report's arithmetic, rows and table."""

from typing import Any

import pytest

from tools.bench.results import Interval, Row, percentile, summary, table


def interval(side: str, number: int, rate: float, **more: Any) -> Interval:
    figures: dict[str, Any] = {
        "p50": 1.0,
        "p99": 2.0,
        "errors": 0,
        "cpu": {"web": 100.0},
        "others": 0.0,
    }
    return Interval(
        side=side, round=number, requests=10, seconds=1.0, rate=rate, steal=0.0, **figures | more
    )


def row(*rates: tuple[float, float], **more: Any) -> Row:
    found = Row("verify", "POST /otp/verify", ("floor", "ours"), 16, least=0.5, aim=0.8, **more)
    for number, (floor, ours) in enumerate(rates):
        found.intervals += [interval("ours", number, ours), interval("floor", number, floor)]
    return found


@pytest.mark.parametrize(
    ("share", "value"), [(0.5, 50), (0.99, 99), (0.991, 100), (1.0, 100), (0.0, 1)]
)
def test_a_percentile_is_one_of_the_values(share: float, value: int) -> None:
    assert percentile(range(100, 0, -1), share) == value


def test_a_row_takes_the_median_of_its_rounds() -> None:
    measured = row((1000, 500), (2000, 900), (4000, 2400))

    assert measured.middle("ours", "rate") == 900
    assert measured.ratio() == (0.45, [0.5, 0.45, 0.6])
    assert measured.misses() == ["verify c=16: 0.450, at least 0.5"]


def test_a_ratio_that_must_stay_small_is_missed_when_it_is_large() -> None:
    slow = row((10, 20), at_most=True)

    assert slow.misses() == ["verify c=16: 2.000, at most 0.5"]


def test_limits_of_the_subject_alone() -> None:
    limits = {"p50": (0.5, 0.1), "p99": (5.0, 3.0)}
    alone = Row("handover", "accepted", ("ours",), 1, limits=limits)
    alone.intervals.append(interval("ours", 0, 10))

    assert alone.ratio() is None
    assert alone.misses() == ["handover c=1: p50 1.0 ms, at most 0.5"]


def test_what_others_took_and_wrong_answers_are_told() -> None:
    noisy = row((1000, 800))
    noisy.intervals.append(interval("ours", 1, 800, others=0.4, errors=3))
    noisy.intervals.append(interval("floor", 1, 1000))

    printed = table([noisy]) + summary([noisy])

    assert "0.40!" in printed
    assert "ratio 0.800 (0.80 0.80): at least 0.5, aim 0.8  OK" in printed
    assert "Below what is asked: nothing." in printed
    assert "With wrong or missing answers: verify c=16." in printed
