"""A figure that rises is found; one that swings, or fills up at first, is not."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tools.soak import Sample, rises

SAMPLES = 40


def series(change: Callable[[Sample, int], Sample]) -> list[Sample]:
    return [
        change(
            Sample(
                at=n * 10.0,
                memory={"web": 300.0, "worker": 100.0},
                files=200,
                threads=120,
                connections=24,
                dead_rows=20_000,
                redis=5.0,
                open_messages=30,
                answered=100,
            ),
            n,
        )
        for n in range(SAMPLES)
    ]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            lambda sample, n: replace(sample, memory={"web": 300.0, "worker": 100.0 + n}),
            "memory of work",
        ),
        (lambda sample, n: replace(sample, files=200 + 3 * n), "open files"),
        (lambda sample, n: replace(sample, threads=120 + 2 * n), "threads"),
        (lambda sample, n: replace(sample, connections=24 + n), "connections"),
        (lambda sample, n: replace(sample, dead_rows=20_000 + 1_000 * n), "dead rows"),
        (lambda sample, n: replace(sample, open_messages=30 + n), "open messages"),
    ],
)
def test_steadily_rising_figure_is_named(
    change: Callable[[Sample, int], Sample], named: str
) -> None:
    (line,) = rises(series(change))
    assert line.startswith(named)


@pytest.mark.parametrize(
    "change",
    [
        lambda sample, _n: sample,
        # Vacuum comes and goes.
        lambda sample, n: replace(sample, dead_rows=20_000 + 15_000 * (n % 2)),
        lambda sample, n: replace(sample, memory={"web": 300.0 + min(n, 10), "worker": 100.0}),
        lambda sample, n: replace(sample, redis=5.0 + n, answered=200 * n),  # kept on purpose
    ],
)
def test_level_figures_are_not_named(change: Callable[[Sample, int], Sample]) -> None:
    assert rises(series(change)) == []


def test_too_few_samples_prove_nothing() -> None:
    assert rises(series(lambda sample, n: replace(sample, files=n * 1000))[:7]) == []
