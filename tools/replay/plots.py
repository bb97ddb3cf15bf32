"""Draws regret by day, what attacks cost, and how the verified rate recovers."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from statistics import median

from tools.replay.run import Recovery, Result, regret

RECOVERY_STEP = 50
RECOVERY_SENDS = 1000
MAX_LINES = 8  # as many as there are colours

Points = Sequence[tuple[float, float]]
_LEFT = 84
_RIGHT = 640  # the names of the lines are right of it
_TOP = 56
_BOTTOM = 360
_INK = "#1d2733"
_COLOURS = ("#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f")
_DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 940 420" \
font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="{title}">
<rect width="940" height="420" rx="12" fill="#f6f7f9"/>
<text x="24" y="27" font-weight="600" fill="{ink}">{title}</text>
{body}
</svg>
"""


def drawings(results: Sequence[Result]) -> Iterator[tuple[str, str]]:
    """Name and SVG of each that these results have figures for."""
    worlds = [(name, list(of_world)) for name, of_world in groupby(results, lambda row: row.world)]
    largest = sorted(worlds, key=_sends, reverse=True)[:MAX_LINES]
    yield (
        "replay-regret",
        _chart(
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
            _chart(
                "A channel dies: points of the verified rate below the oracle", dying, "sends since"
            ),
        )


def _sends(world: tuple[str, Sequence[Result]]) -> int:
    return sum(row.policies["ours"].sends for row in world[1])


def _recovery(results: Sequence[Result]) -> Points:
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
    return _chart("Tokens lost to each attack, by seed", rows[:MAX_LINES], "seed")


def _chart(title: str, series: Sequence[tuple[str, Points]], unit: str) -> str:
    """A line for each of the series."""
    points = [point for _, line in series for point in line]
    ys = [y for _, y in points]
    low, high = min(0.0, *ys), max(1e-6, *ys)
    last = max(x for x, _ in points)

    def at(x: float, y: float) -> tuple[float, float]:
        share = x / last if last else 0.5
        level = (y - low) / (high - low)
        return _LEFT + (_RIGHT - _LEFT) * share, _BOTTOM - level * (_BOTTOM - _TOP)

    # About five rules: 1, 2 or 5 times a power of ten.
    sizes = (factor * 10.0**n for n in range(-6, 12) for factor in (1, 2, 5))
    step = next(size for size in sizes if (high - low) / size <= 5)
    parts = []
    for n in range(int(low / step), int(high / step) + 1):
        _, y = at(0, step * n)
        parts += [
            f'<path d="M{_LEFT:.1f} {y:.1f}L{_RIGHT:.1f} {y:.1f}" stroke="#cdd5df"/>',
            _text(_LEFT - 8, y + 4, f"{step * n:,.12g}", anchor="end"),
        ]
    for tick in (0.0, last):
        parts.append(_text(at(tick, 0)[0], _BOTTOM + 22, f"{tick:,.12g}", anchor="middle"))
    parts.append(_text((_LEFT + _RIGHT) / 2, _BOTTOM + 44, unit, anchor="middle"))
    for n, (name, line) in enumerate(series):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in line))
        drawn = f'<polyline points="{path}" fill="none" stroke="{_COLOURS[n]}" stroke-width="2"/>'
        parts += [drawn, _text(_RIGHT + 16, _TOP + 14 + 20 * n, name, fill=_COLOURS[n])]
    return _DRAWING.format(title=escape(title), body="\n".join(parts), ink=_INK)


def _text(x: float, y: float, content: str, *, anchor: str = "start", fill: str = _INK) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{fill}">{escape(content)}</text>'
