"""Draws a soak as an SVG: a small panel for each figure, all over the same minutes."""

from collections.abc import Callable, Sequence
from html import escape

from tools.soak.samples import Sample

COLOURS = ("#2563eb", "#d97706", "#059669")
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
    return _SVG.format(title=escape(title), body="\n".join(body), width=WIDTH, height=height)


_SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" \
font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="{title}">
<rect width="{width}" height="{height}" rx="12" fill="#f6f7f9"/>
<text x="24" y="27" font-weight="600" fill="#1d2733">{title}</text>
{body}
</svg>
"""


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
        _text(left, top - 10, f"{name}: up to {highest:,.0f}", "#1d2733"),
        f'<rect x="{left}" y="{top}" width="{PANEL}" height="{DEPTH}" fill="#ffffff"/>',
    ]
    for number, (label, value) in enumerate(series):
        colour = COLOURS[number % len(COLOURS)]
        points = " ".join(
            f"{left + _offset(one, samples):.1f},{top + DEPTH * (1 - value(one) / highest):.1f}"
            for one in samples
        )
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        parts.append(_text(left + 6 + 80 * number, top + DEPTH + 18, label, colour))
    return "\n".join(parts)


def _offset(one: Sample, samples: Sequence[Sample]) -> float:
    return PANEL * one.at / max(1.0, samples[-1].at)


def _text(x: float, y: float, text: str, colour: str) -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}">{escape(text)}</text>'
