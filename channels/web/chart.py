"""Stacked bars as numbers for an SVG: one bar a day, one segment for each of a few names."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import log10

from django.utils.functional import Promise

from channels.models import Message

Series = Sequence[tuple[str, str | Promise]]  # (name in days and in the style sheet, its label)

BAR_WIDTH, STEP, HEIGHT = 7, 10, 100  # units of the drawing, which is stretched to its place
ROUND_TOPS = (2, 4, 6, 8, 10, 12, 16, 20, 30, 40, 50, 60, 80, 100)  # tenths of a power of ten
MIN_HEIGHT = 1.5  # a segment that is there is seen


@dataclass(frozen=True, slots=True)
class Segment:
    name: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    day: date
    left: int
    x: float
    segments: list[Segment]
    counts: list[tuple[str | Promise, int]]  # of every label
    total: int


@dataclass(frozen=True, slots=True)
class Chart:
    bars: list[Bar]
    series: Series
    top: int  # what the full height stands for
    width: int
    height: int = HEIGHT
    bar: int = BAR_WIDTH
    step: int = STEP

    @property
    def middle(self) -> int:
        return self.top // 2

    @property
    def total(self) -> int:
        return sum(bar.total for bar in self.bars)


def chart(days: Mapping[date, Counter[str]], series: Series = Message.ChannelName.choices) -> Chart:
    top = _round_up(max((counts.total() for counts in days.values()), default=0))
    bars = [_bar(n, day, counts, top, series) for n, (day, counts) in enumerate(days.items())]
    return Chart(bars, series, top, width=STEP * len(bars))


def _bar(n: int, day: date, counts: Counter[str], top: int, series: Series) -> Bar:
    segments, y = list[Segment](), float(HEIGHT)
    for name, _label in series:
        if counts[name]:
            height = max(MIN_HEIGHT, HEIGHT * counts[name] / top)
            y -= height
            segments.append(Segment(name, round(y, 2), round(height, 2)))
    named = [(label, counts[name]) for name, label in series]
    left = n * STEP
    return Bar(day, left, left + (STEP - BAR_WIDTH) / 2, segments, named, counts.total())


def _round_up(value: int) -> int:
    """An even number with a round look, so that the lines of the drawing have whole names."""
    unit: int = 10 ** max(1, int(log10(value or 1)))
    return next(unit * tenths // 10 for tenths in ROUND_TOPS if value <= unit * tenths // 10)
