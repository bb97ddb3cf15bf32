"""The sends of a live run, and what the simulator is told of them."""

from typing import Any

import pytest

from tests.tools.replay.live.worlds import small
from tools.replay.live.comparison import (
    NotPlayableError,
    draw,
    later,
    moved,
    outcome_of,
    outcomes,
    renumbered,
)
from tools.replay.timeline import Played


def test_first_sends_after_the_warm_up_are_squeezed_evenly() -> None:
    world = small()
    slow = draw(world, 1, 50, a_second=world.sends_per_day / 86400)
    fast = draw(world, 1, 50, a_second=10)

    assert all(send.at < 0 for send in fast.warm_up)
    assert fast.sends[-1].at == pytest.approx(5)
    times = slow.sends[-1].at / 5
    assert [send.at * times for send in fast.sends] == pytest.approx([s.at for s in slow.sends])
    assert [send.luck for send in fast.sends] == [send.luck for send in slow.sends]


def test_changes_are_squeezed_with_the_sends() -> None:
    change = {"day": 0.5, "channel": "sms", "set": {"lost": 0.9}}

    sample = draw(small(changes=[change]), 1, 500, a_second=10)

    # Half a day is half of a thousand sends.
    assert sample.world.changes[0].start == pytest.approx(50, rel=0.15)
    assert moved(sample.world, 7).changes[0].start == sample.world.changes[0].start + 7


def test_every_send_has_a_number_of_its_own_in_its_range() -> None:
    sends = draw(small(), 1, 200, a_second=10).sends

    phones = [send.person.phone for send in renumbered(sends, 2_000_000)]

    assert phones == [f"+7701{2_000_000 + n}" for n in range(200)]
    assert len({send.person.phone for send in sends}) < 200


def test_sends_are_moved_to_a_moment() -> None:
    sends = draw(small(), 1, 3, a_second=1).sends

    assert [send.at for send in later(sends, 100)] == [send.at + 100 for send in sends]


@pytest.mark.parametrize(
    ("played", "outcome"),
    [
        ({"arrives": 2.5, "receipt": 2.5}, {"outcome": "delivered", "after_ms": 2500}),
        ({"arrives": 2.5}, {"outcome": "unproved", "after_ms": 2500}),
        ({"refused": 0.5}, {"outcome": "unreachable", "after_ms": 500}),
        ({"refused": 0.5, "barred": True}, {"outcome": "barred", "after_ms": 500}),
        ({}, {"outcome": "lost"}),
    ],
)
def test_fate_is_told_in_the_simulators_words(
    played: dict[str, Any], outcome: dict[str, Any]
) -> None:
    assert outcome_of(Played("sms", "", 0.0, **played)) == outcome


def test_each_channel_of_the_world_has_an_outcome() -> None:
    sample = draw(small(), 1, 20, a_second=10)

    told = outcomes(sample.world, renumbered(sample.sends, 1))

    assert len(told) == 20
    assert {tuple(own) for own in told.values()} == {("telegram", "sms")}
    reached = {send.person.phone for send in sample.sends if send.person.reach}
    assert 0 < len(reached) < 20


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"channels": {"telegram": {}, "viber": {}}}, "no vendor is simulated for viber"),
        ({"accounts": {"sms": [{"name": "a"}, {"name": "b"}]}}, "its accounts"),
        ({"sends_per_day": 5}, "no send after the warm-up|only . sends"),
    ],
)
def test_what_the_service_cannot_play_is_refused(changed: dict[str, Any], error: str) -> None:
    with pytest.raises(NotPlayableError, match=error):
        draw(small(**changed), 1, 50, a_second=10)
