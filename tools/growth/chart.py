"""The drawings in the documentation: a line for each of some rows, both axes logarithmic."""

from collections.abc import Callable, Sequence
from math import log10
from pathlib import Path

from tools import svg
from tools.growth.figures import Figure, Group, Results, Row

WIDTH, HEIGHT, LEFT, TOP = 940, 340, 84, 44
PLOT, DEPTH, LINE = 520, 240, 22  # the drawing's width and height, and a line of its legend

Value = Callable[[Figure], float]

MOST = 8  # lines of a drawing
_TITLES: dict[Group, tuple[str, Value]] = {
    Group.HOT: ("Blocks that hot statements read", lambda figure: figure.blocks),
    Group.PAGE: ("Blocks that the dearest pages read", lambda figure: figure.blocks),
    Group.JOB: ("The longest jobs, ms", lambda figure: figure.ms),
}


def draw(results: Results, sizes: Sequence[int], folder: Path) -> None:
    """The rows that cost most at the largest size."""
    folder.mkdir(parents=True, exist_ok=True)
    for group, (title, value) in _TITLES.items():
        rows = [row for row in results if row.group is group]
        rows.sort(key=lambda row: value(row.last), reverse=True)
        if rows:
            drawn = chart(title, rows[:MOST], sizes, value)
            (folder / f"growth-{group}.svg").write_text(drawn, encoding="utf-8")


def chart(title: str, rows: Sequence[Row], sizes: Sequence[int], value: Value) -> str:
    highest = max([10.0, *(value(figure) for row in rows for figure in row.at.values())])
    decades = int(log10(highest)) + 1
    parts = [_grid(sizes, decades)]
    for n, row in enumerate(rows):
        points = [
            (_x(size, sizes), _y(value(figure), decades)) for size, figure in sorted(row.at.items())
        ]
        parts.append(_series(points, row.name, n))
    return svg.drawing(title, parts, WIDTH, HEIGHT)


def _grid(sizes: Sequence[int], decades: int) -> str:
    lines = []
    for decade in range(decades + 1):
        y = _y(10**decade, decades)
        lines.append(f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + PLOT}" y2="{y}" stroke="#c8ced6"/>')
        lines.append(svg.text(LEFT - 8, y + 4, f"{10**decade:,}", anchor="end"))
    labels = [
        svg.text(_x(size, sizes), TOP + DEPTH + 22, f"{size:,}", anchor="middle") for size in sizes
    ]
    unit = svg.text(LEFT + PLOT / 2, TOP + DEPTH + 42, "messages", anchor="middle")
    return "\n".join([*lines, *labels, unit])


def _series(points: Sequence[tuple[float, float]], name: str, n: int) -> str:
    colour, y = svg.colour(n), TOP + 6 + n * LINE
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="3.5" fill="{colour}"/>' for x, y in points)
    mark = f'<rect x="{LEFT + PLOT + 24}" y="{y - 5}" width="14" height="4" fill="{colour}"/>'
    return f"{svg.polyline(points, colour)}{dots}{mark}{svg.text(LEFT + PLOT + 46, y + 2, name)}"


def _x(size: int, sizes: Sequence[int]) -> float:
    low, high = log10(min(sizes)), log10(max(sizes))
    share = (log10(size) - low) / (high - low) if high > low else 0.5
    return round(LEFT + 20 + share * (PLOT - 40), 1)


def _y(value: float, decades: int) -> float:
    share = log10(max(1.0, value)) / decades
    return round(TOP + DEPTH - share * DEPTH, 1)
