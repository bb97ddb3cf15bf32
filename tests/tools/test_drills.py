"""The figures of a drill, from records, and the promises they break."""

from dataclasses import replace

import pytest

from tools.drills import SCENARIOS, Figures, first_arrival, longest_gap, main

NEVER = float("inf")
KEPT = Figures(
    accepted=300,
    lost=0,
    delivered=299,
    expired=1,
    charged_twice=0,
    sent_twice=0,
    repeated=7,
    silence=0.4,
    first_delivery=1.2,
    deaths={},
    broken_checks=[],
)


@pytest.mark.parametrize(
    ("moments", "gap"),
    [
        ([], 10.0),
        ([105.0], 5.0),
        ([101.0, 109.0], 8.0),
        ([109.0, 101.0, 103.0], 6.0),
        ([90.0, 102.0, 104.0, 106.0, 108.0, 120.0], 2.0),
    ],
)
def test_longest_gap_counts_from_the_loss_to_the_end(moments: list[float], gap: float) -> None:
    assert longest_gap(moments, 100.0, 110.0) == gap


def test_first_arrival_is_of_a_message_requested_after_the_loss() -> None:
    placed = {"+1": 99.0, "+2": 101.0, "+3": 102.0}

    assert first_arrival([("+1", 101.0), ("+3", 105.0), ("+2", 104.0)], placed, 100.0) == 104.0
    assert first_arrival([("+1", 101.0), ("+9", 103.0)], placed, 100.0) == NEVER


@pytest.mark.parametrize(
    ("change", "breach"),
    [
        ({"lost": 2}, "2 sends were lost"),
        ({"charged_twice": 1}, "1 sends were charged twice"),
        ({"sent_twice": 1}, "1 sends were sent twice"),
        ({"silence": 5.1}, "no answer for 5.1 s"),
        ({"first_delivery": NEVER}, "no delivery for inf s"),
        ({"accepted": 0}, "no send was accepted"),
        ({"deaths": {"worker: exit code 1": 3}}, "worker: exit code 1"),
        ({"broken_checks": ["I1: x"]}, "I1: x"),
    ],
)
def test_each_broken_promise_is_named(change: dict[str, object], breach: str) -> None:
    scenario = SCENARIOS["redis"]

    assert KEPT.breaches(scenario) == []
    assert replace(KEPT, **change).breaches(scenario) == [breach]  # type: ignore[arg-type]


def test_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["everything"])

    assert "redis-failover" in capsys.readouterr().err
