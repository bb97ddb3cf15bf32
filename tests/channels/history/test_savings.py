"""The saving and its interval: right nineteen times in twenty, also with few codes held out."""

import random

import pytest

from channels.history.savings import ArmSums, Saving

SMS = 16
MESSENGER = 1


def arm(draw: random.Random, codes: int, sms: float) -> ArmSums:
    prices = [SMS if draw.random() < sms else MESSENGER for _code in range(codes)]
    return ArmSums(codes, codes, sum(prices), sum(price**2 for price in prices))


@pytest.mark.parametrize("sms", [0.03, 0.1, 0.3])
@pytest.mark.parametrize("held_out", [20, 50])
def test_interval_covers_no_difference_nineteen_times_in_twenty(held_out: int, sms: float) -> None:
    draw = random.Random(8)  # noqa: S311 - a simulation
    savings = [
        Saving("", arm(draw, 19 * held_out, sms), arm(draw, held_out, sms)) for _round in range(400)
    ]

    covered = sum(saving.lower <= 0 <= saving.upper for saving in savings)

    assert covered / len(savings) > 0.92


def test_saving_is_that_of_the_codes_that_were_planned() -> None:
    saving = Saving("", ArmSums(950, 900, 2000, 32_000), ArmSums(50, 48, 600, 9600))

    assert saving.is_known
    assert saving.tokens == round((12 - 2000 / 950) * 950)
    assert saving.lower < saving.tokens < saving.upper


@pytest.mark.parametrize(
    ("smart", "held_out", "is_known"),
    [(379, 20, False), (385, 15, False), (0, 400, False), (380, 20, True)],
)
def test_too_few_codes_show_no_saving(smart: int, held_out: int, *, is_known: bool) -> None:
    saving = Saving("", ArmSums(smart), ArmSums(held_out))

    assert saving.is_known is is_known
