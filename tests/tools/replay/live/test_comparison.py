from math import inf

import pytest

from tests.tools.replay.live.worlds import small
from tools.replay.live.comparison import Comparison, compared, draw
from tools.replay.timeline import Outcome

MANY = 100


def comparison(live: list[Outcome], virtual: list[Outcome]) -> Comparison:
    return compared("ours", draw(small(), 1, MANY, a_second=10).sends, live, virtual)


def side(verified: int, tokens: int) -> list[Outcome]:
    """The first `verified` verify; the first paid all tokens."""
    return [
        Outcome(verified=9.0 if n < verified else inf, tokens=0 if n else tokens)
        for n in range(MANY)
    ]


@pytest.mark.parametrize(
    ("verified", "tokens", "agrees"),
    [
        (90, 1000, True),
        (92, 1000, True),
        (88, 1050, True),
        (93, 1000, False),
        (87, 1000, False),
        (90, 1051, False),
        (90, 949, False),
    ],
)
def test_two_points_and_five_per_cent_are_allowed(
    verified: int, tokens: int, *, agrees: bool
) -> None:
    assert comparison(side(verified, tokens), side(90, 1000)).agrees is agrees


def test_tokens_of_one_side_alone_are_no_agreement() -> None:
    assert comparison(side(90, 1), side(90, 0)).tokens_difference == inf
    assert comparison(side(90, 0), side(90, 0)).agrees
