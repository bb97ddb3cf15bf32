"""Draws growth as an SVG: a line for each of some rows, both axes logarithmic."""

from collections.abc import Callable, Sequence
from html import escape
from math import log10

from tools.growth.figures import Figure, Row

COLOURS = ("#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f")
WIDTH, HEIGHT, LEFT, TOP = 940, 340, 84, 44
PLOT, DEPTH, LINE = 520, 240, 22  # the drawing's width and height, and a line of its legend

Value = Callable[[Figure], float]


def chart(title: str, rows: Sequence[Row], sizes: Sequence[int], value: Value) -> str:
    highest = max([10.0, *(value(figure) for row in rows for figure in row.at.values())])
    decades = int(log10(highest)) + 1
    parts = [_grid(sizes, decades)]
    for n, row in enumerate(rows):
        points = [
            (_x(size, sizes), _y(value(figure), decades)) for size, figure in sorted(row.at.items())
        ]
        parts.append(_series(points, row.name, n))
    return _SVG.format(title=escape(title), body="\n".join(parts), width=WIDTH, height=HEIGHT)


_SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" \
font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="{title}">
<rect width="{width}" height="{height}" rx="12" fill="#f6f7f9"/>
<text x="24" y="27" font-weight="600" fill="#1d2733">{title}</text>
{body}
</svg>
"""


def _grid(sizes: Sequence[int], decades: int) -> str:
    lines = []
    for decade in range(decades + 1):
        y = _y(10**decade, decades)
        lines.append(f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + PLOT}" y2="{y}" stroke="#c8ced6"/>')
        lines.append(_text(LEFT - 8, y + 4, f"{10**decade:,}", "end"))
    labels = [_text(_x(size, sizes), TOP + DEPTH + 22, f"{size:,}", "middle") for size in sizes]
    unit = _text(LEFT + PLOT / 2, TOP + DEPTH + 42, "messages", "middle")
    return "\n".join([*lines, *labels, unit])


def _series(points: Sequence[tuple[float, float]], name: str, n: int) -> str:
    colour, y = COLOURS[n % len(COLOURS)], TOP + 6 + n * LINE
    path = " ".join(f"{x},{y}" for x, y in points)
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="3.5" fill="{colour}"/>' for x, y in points)
    line = f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    mark = f'<rect x="{LEFT + PLOT + 24}" y="{y - 5}" width="14" height="4" fill="{colour}"/>'
    return f"{line}{dots}{mark}{_text(LEFT + PLOT + 46, y + 2, name, 'start')}"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="#1d2733">{escape(text)}</text>'


def _x(size: int, sizes: Sequence[int]) -> float:
    low, high = log10(min(sizes)), log10(max(sizes))
    share = (log10(size) - low) / (high - low) if high > low else 0.5
    return round(LEFT + 20 + share * (PLOT - 40), 1)


def _y(value: float, decades: int) -> float:
    share = log10(max(1.0, value)) / decades
    return round(TOP + DEPTH - share * DEPTH, 1)
