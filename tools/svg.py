"""The chart that our tools draw."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from math import log10

Points = Sequence[tuple[float, float]]
WIDTH, HEIGHT = 940, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 640, 56, 360  # the names of the lines are right of them
INK = "#1d2733"
_COLOURS = ("#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f")
_DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" \
font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="{title}">
<rect width="{width}" height="{height}" rx="12" fill="#f6f7f9"/>
<text x="24" y="27" font-weight="600" fill="{ink}">{title}</text>
{body}
</svg>
"""


def colour(n: int) -> str:
    """The colour of the n-th line."""
    return _COLOURS[n % len(_COLOURS)]


def polyline(points: Iterable[tuple[float, float]], stroke: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{stroke}" stroke-width="2"/>'


def text(x: float, y: float, content: str, *, anchor: str = "start", fill: str = INK) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{fill}">{escape(content)}</text>'


def rule(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<path d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}" stroke="#cdd5df"/>'


def circle(x: float, y: float, fill: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{fill}" fill-opacity="0.6"/>'


def chart(title: str, series: Sequence[tuple[str, Points]], unit: str, *, log: bool = False) -> str:
    """A line for each of the series; `log`: both scales are logarithmic, and points are marked."""
    scaled: Callable[[float], float] = (lambda value: log10(max(1.0, value))) if log else float
    points = [(scaled(x), scaled(y)) for _, line in series for x, y in line]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    low, high = min(0.0, *ys), max(1.0 if log else 1e-6, *ys)
    first, last = (min(xs) if log else 0.0), max(xs)

    def at(x: float, y: float) -> tuple[float, float]:
        share = (scaled(x) - first) / (last - first) if last > first else 0.5
        level = (scaled(y) - low) / (high - low)
        return round(_LEFT + (_RIGHT - _LEFT) * share, 1), round(
            _BOTTOM - level * (_BOTTOM - _TOP), 1
        )

    if log:
        high = float(int(high + 0.999))
        marks = [10.0**n for n in range(int(high) + 1)]
    else:  # about five rules: 1, 2 or 5 times a power of ten
        sizes = (factor * 10.0**n for n in range(-6, 12) for factor in (1, 2, 5))
        step = next(size for size in sizes if (high - low) / size <= 5)
        marks = [step * n for n in range(int(low / step), int(high / step) + 1)]
    parts = []
    for level in marks:
        _, y = at(first, level)
        parts += [rule(_LEFT, y, _RIGHT, y), text(_LEFT - 8, y + 4, f"{level:,.12g}", anchor="end")]
    ticks = sorted({x for _, line in series for x, _ in line}) if log else [0.0, last]
    for tick in ticks:
        parts.append(text(at(tick, 1)[0], _BOTTOM + 22, f"{tick:,.12g}", anchor="middle"))
    parts.append(text((_LEFT + _RIGHT) / 2, _BOTTOM + 44, unit, anchor="middle"))
    for n, (name, line) in enumerate(series):
        drawn = [at(x, y) for x, y in line]
        parts.append(polyline(drawn, colour(n)))
        parts += [circle(x, y, colour(n)) for x, y in drawn] if log else []
        parts.append(text(_RIGHT + 16, _TOP + 14 + 20 * n, name, fill=colour(n)))
    body = "\n".join(parts)
    return _DRAWING.format(title=escape(title), body=body, width=WIDTH, height=HEIGHT, ink=INK)
