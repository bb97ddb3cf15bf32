"""Computes a stacked bar chart for an SVG: one bar per day, one segment per series."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import log10
from typing import NamedTuple

from catalogue.channels import CHANNELS
from catalogue.texts import StrOrPromise


class Series(NamedTuple):
    name: str  # key in the data
    label: StrOrPromise
    colour: str  # in the class `.chart-<colour>` of static/figures.css


class Extra(NamedTuple):
    """A figure that each day lists as text and does not draw."""

    label: StrOrPromise
    by_day: Mapping[date, int]


BY_CHANNEL = [Series(channel.name, channel.title, channel.colour) for channel in CHANNELS]
# Units of the viewBox: the drawing stretches to its container.
BAR_WIDTH = 7
STEP = 10
HEIGHT = 100
ROUND_TOPS = (2, 4, 6, 8, 10, 12, 16, 20, 30, 40, 50, 60, 80, 100)  # tenths of a power of ten
MAX_LABELS = 8  # as many as fit next to each other on a phone
TENTHS = 10  # possible positions of the tip of a day
MIN_HEIGHT = 1.5  # so that a small segment stays visible


@dataclass(frozen=True, slots=True)
class Segment:
    colour: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    day: date
    is_labelled: bool  # for many days only every second, third or so has its number below
    x: float
    segments: list[Segment]
    counts: list[tuple[Series, int]]  # one value for every series
    extras: list[tuple[StrOrPromise, int]]
    total: int
    tenth: int  # of the drawing's width, from 0: where the bar is


@dataclass(frozen=True, slots=True)
class Chart:
    bars: list[Bar]
    series: Sequence[Series]
    extras: Sequence[Extra]
    top: int  # the value at full height
    width: int
    height: int = HEIGHT
    bar: int = BAR_WIDTH

    @property
    def middle(self) -> int:
        return self.top // 2

    @property
    def total(self) -> int:
        return sum(bar.total for bar in self.bars)


def chart(
    days: Mapping[date, Counter[str]],
    series: Sequence[Series] = BY_CHANNEL,
    extras: Sequence[Extra] = (),
) -> Chart:
    top = _round_up(max((counts.total() for counts in days.values()), default=0))
    every = -(-len(days) // MAX_LABELS)
    bars = [
        Bar(
            day=day,
            is_labelled=(len(days) - 1 - index) % every == 0,
            x=index * STEP + (STEP - BAR_WIDTH) / 2,
            segments=_segments(counts, top, series),
            counts=[(row, counts[row.name]) for row in series],
            extras=[(extra.label, extra.by_day.get(day, 0)) for extra in extras],
            total=counts.total(),
            tenth=index * TENTHS // len(days),
        )
        for index, (day, counts) in enumerate(days.items())
    ]
    return Chart(bars, series, extras, top, width=STEP * len(bars))


def _segments(counts: Counter[str], top: int, series: Sequence[Series]) -> list[Segment]:
    segments = list[Segment]()
    y = float(HEIGHT)
    for row in series:
        if counts[row.name]:
            height = max(MIN_HEIGHT, HEIGHT * counts[row.name] / top)
            y -= height
            segments.append(Segment(row.colour, round(y, 2), round(height, 2)))
    return segments


def _round_up(value: int) -> int:
    """Rounds up to an even round number, so that the grid lines have whole labels."""
    unit: int = 10 ** max(1, int(log10(value or 1)))
    return next(unit * tenths // 10 for tenths in ROUND_TOPS if value <= unit * tenths // 10)
