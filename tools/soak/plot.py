"""Draws a soak as an SVG: a small panel for each figure, all over the same minutes."""

from collections.abc import Callable, Sequence

from tools import svg
from tools.soak.samples import Sample

WIDTH, PANEL, DEPTH, GAP, TOP = 920, 400, 110, 60, 70  # of the drawing and of its panels
Series = tuple[str, Callable[[Sample], float]]


def plot(samples: Sequence[Sample], rate: float) -> str:
    panels = [
        (name, series)
        for name, series in _panels(samples)
        if any(value(sample) for _, value in series for sample in samples)
    ]
    title = f"{samples[-1].at / 60:.0f} minutes at {rate:g} sends a second"
    body = [_panel(n, name, series, samples) for n, (name, series) in enumerate(panels)]
    height = TOP + (len(panels) + 1) // 2 * (DEPTH + GAP)
    return svg.drawing(title, body, WIDTH, height)


def _panels(samples: Sequence[Sample]) -> list[tuple[str, list[Series]]]:
    memory: list[Series] = [
        (name, lambda one, name=name: one.memory[name])  # type: ignore[misc]
        for name in samples[-1].memory
    ]
    return [
        ("memory of the processes, MB", memory),
        ("connections to PostgreSQL", [("", lambda one: one.connections)]),
        ("threads", [("", lambda one: one.threads)]),
        ("open files", [("", lambda one: one.files)]),
        ("dead rows, thousands", [("", lambda one: one.dead_rows / 1000)]),
        ("open messages", [("", lambda one: one.open_messages)]),
        ("Redis, MB", [("", lambda one: one.redis)]),
        ("answered, thousands", [("", lambda one: one.answered / 1000)]),
    ]


def _panel(n: int, name: str, series: Sequence[Series], samples: Sequence[Sample]) -> str:
    left, top = 24 + n % 2 * (PANEL + 48), TOP + n // 2 * (DEPTH + GAP)
    highest = max([1.0, *(value(one) for _, value in series for one in samples)])
    parts = [
        svg.text(left, top - 10, f"{name}: up to {highest:,.0f}"),
        f'<rect x="{left}" y="{top}" width="{PANEL}" height="{DEPTH}" fill="#ffffff"/>',
    ]
    for number, (label, value) in enumerate(series):
        colour = svg.colour(number)
        points = [
            (left + _offset(one, samples), top + DEPTH * (1 - value(one) / highest))
            for one in samples
        ]
        parts.append(svg.polyline(points, colour))
        parts.append(svg.text(left + 6 + 80 * number, top + DEPTH + 18, label, fill=colour))
    return "\n".join(parts)


def _offset(one: Sample, samples: Sequence[Sample]) -> float:
    return PANEL * one.at / max(1.0, samples[-1].at)
