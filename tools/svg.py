"""The frame, lines and text of the drawings that our tools make."""

from collections.abc import Iterable
from html import escape

INK = "#1d2733"
_COLOURS = ("#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f")
_DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" \
font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="{title}">
<rect width="{width}" height="{height}" rx="12" fill="#f6f7f9"/>
<text x="24" y="27" font-weight="600" fill="{ink}">{title}</text>
{body}
</svg>
"""


def drawing(title: str, parts: Iterable[str], width: int, height: int) -> str:
    body = "\n".join(parts)
    return _DRAWING.format(title=escape(title), body=body, width=width, height=height, ink=INK)


def colour(n: int) -> str:
    """Of the n-th line."""
    return _COLOURS[n % len(_COLOURS)]


def polyline(points: Iterable[tuple[float, float]], stroke: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{stroke}" stroke-width="2"/>'


def text(x: float, y: float, content: str, *, anchor: str = "start", fill: str = INK) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{fill}">{escape(content)}</text>'
