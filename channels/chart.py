"""Stacked bars as numbers for a template's SVG: one bar a day, one segment a channel."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from math import log10

from channels.models import Message

BAR, STEP, HEIGHT = 7, 10, 100  # units of the drawing, which is stretched to its place
TOPS = (2, 4, 6, 8, 10, 12, 16, 20, 30, 40, 50, 60, 80, 100)  # tenths of a power of ten
LEAST = 1.5  # a segment that is there is seen


@dataclass(frozen=True, slots=True)
class Segment:
    channel: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    day: date
    left: int
    x: float
    segments: list[Segment]
    counts: list[tuple[str, int]]  # (channel's name, messages), every channel
    total: int


@dataclass(frozen=True, slots=True)
class Chart:
    bars: list[Bar]
    top: int  # what the full height stands for
    width: int
    height: int = HEIGHT
    bar: int = BAR
    step: int = STEP

    @property
    def middle(self) -> int:
        return self.top // 2


def chart(days: Mapping[date, Counter[str]]) -> Chart:
    top = _round_up(max((counts.total() for counts in days.values()), default=0))
    bars = [_bar(n, day, counts, top) for n, (day, counts) in enumerate(days.items())]
    return Chart(bars, top, width=STEP * len(bars))


def _bar(n: int, day: date, counts: Counter[str], top: int) -> Bar:
    segments, y = list[Segment](), float(HEIGHT)
    for channel in Message.ChannelName.values:
        if counts[channel]:
            height = max(LEAST, HEIGHT * counts[channel] / top)
            y -= height
            segments.append(Segment(channel, round(y, 2), round(height, 2)))
    named = [(name.label, counts[name.value]) for name in Message.ChannelName]
    left = n * STEP
    return Bar(day, left, left + (STEP - BAR) / 2, segments, named, counts.total())


def _round_up(value: int) -> int:
    """An even number with a round look, so that the lines of the drawing have whole names."""
    unit: int = 10 ** max(1, int(log10(value or 1)))
    return next(unit * tenths // 10 for tenths in TOPS if value <= unit * tenths // 10)
