"""Draws regret by day, what attacks cost, and how the verified rate recovers."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from statistics import median

from tools import svg
from tools.replay.run import Recovery, Result, regret

RECOVERY_STEP, RECOVERY_SENDS = 50, 1000
MAX_LINES = 8  # as many as there are colours


def drawings(results: Sequence[Result]) -> Iterator[tuple[str, str]]:
    """Name and SVG of each that these results have figures for."""
    worlds = [(name, list(of_world)) for name, of_world in groupby(results, lambda row: row.world)]
    largest = sorted(worlds, key=_sends, reverse=True)[:MAX_LINES]
    yield (
        "replay-regret",
        svg.chart(
            "Tokens per verified person above the oracle, by day",
            [(name, list(enumerate(regret(of_world), 1))) for name, of_world in largest],
            "day",
        ),
    )
    attacked = [(name, of_world) for name, of_world in worlds if of_world[0].attacks]
    if attacked:
        yield "replay-attacks", _attacks(attacked)
    curves = [(name, _recovery(of_world)) for name, of_world in worlds]
    dying = [(name, curve) for name, curve in curves if curve]
    if dying:
        yield (
            "replay-recovery",
            svg.chart(
                "A channel dies: points of the verified rate below the oracle", dying, "sends since"
            ),
        )


def _sends(world: tuple[str, Sequence[Result]]) -> int:
    return sum(row.policies["ours"].sends for row in world[1])


def _recovery(results: Sequence[Result]) -> svg.Points:
    changes: list[Recovery] = [change for row in results for change in row.recoveries[:1]]
    points = []
    for begin in range(0, RECOVERY_SENDS, RECOVERY_STEP):
        part = slice(begin, begin + RECOVERY_STEP)
        count = sum(len(row.ours[part]) for row in changes)
        if count:
            gap = sum(sum(row.oracle[part]) - sum(row.ours[part]) for row in changes)
            points.append((begin + RECOVERY_STEP, gap * 100 / count))
    return points


def _attacks(worlds: Iterable[tuple[str, Sequence[Result]]]) -> str:
    """The attacks that cost most, seed by seed."""
    rows = [
        (
            f"{name}, {n}" if len(of_world[0].attacks) > 1 else name,
            [(row.seed, row.attacks[n].tokens_lost) for row in of_world],
        )
        for name, of_world in worlds
        for n in range(len(of_world[0].attacks))
    ]
    rows.sort(key=lambda row: median(lost for _seed, lost in row[1]), reverse=True)
    return svg.chart("Tokens lost to each attack, by seed", rows[:MAX_LINES], "seed")
