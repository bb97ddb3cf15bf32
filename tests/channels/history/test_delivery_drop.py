import random

import pytest

from channels.history.delivery_drop import Drop, Outcomes, delivery_drop

NORM = Outcomes(delivered=9600, ended=10_000)


def test_drop_says_both_shares() -> None:
    found = delivery_drop(Outcomes(delivered=50, ended=100), NORM)

    assert found == Drop(now=50.0, norm=96.0)
    assert found.points == 46.0


@pytest.mark.parametrize(
    ("delivered", "ended", "is_drop"),
    [
        (0, 0, False),
        (0, 19, False),  # too few to say
        (0, 20, True),
        (19, 20, False),
        (17, 20, False),  # 85 %, but of twenty
        (8, 20, True),
        (860, 1000, True),
        (8700, 10_000, False),  # significant, and nine points
        (10_000, 10_000, False),  # better than ever
    ],
)
def test_drop_is_neither_chance_nor_trifle(delivered: int, ended: int, is_drop: bool) -> None:
    assert (delivery_drop(Outcomes(delivered, ended), NORM) is not None) is is_drop


@pytest.mark.parametrize("norm", [Outcomes(0, 0), Outcomes(99, 99), Outcomes(0, 5000)])
def test_drop_needs_a_norm_to_fall_from(norm: Outcomes) -> None:
    assert delivery_drop(Outcomes(0, 1000), norm) is None


def test_norm_without_a_failure_is_a_norm() -> None:
    """Then one failure is no proof."""
    assert delivery_drop(Outcomes(19, 20), Outcomes(1000, 1000)) is None
    assert delivery_drop(Outcomes(5, 20), Outcomes(1000, 1000)) is not None
    assert delivery_drop(Outcomes(20, 20), Outcomes(1000, 1000)) is None


@pytest.mark.parametrize("share", [0.7, 0.9, 0.97])
@pytest.mark.parametrize("ended", [20, 60, 400])
def test_chance_alone_is_no_drop(share: float, ended: int) -> None:
    chance = random.Random(7)  # noqa: S311 - the same in every run
    norm = Outcomes(round(5000 * share), 5000)

    hours = (
        Outcomes(sum(chance.random() < share for _ in range(ended)), ended) for _ in range(2000)
    )

    assert not any(delivery_drop(hour, norm) for hour in hours)
