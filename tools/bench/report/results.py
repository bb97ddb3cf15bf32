"""Results: intervals, and the rows they make up."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from math import ceil
from statistics import median
from typing import Any

NOISY = 0.3  # cores taken by others, above which an interval is marked


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that at least this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def ratios(base: Sequence[float], subject: Sequence[float]) -> tuple[float, list[float]]:
    """The ratio of the medians, and that of each round."""
    rounds = [b / a if a else 0.0 for a, b in zip(base, subject, strict=True)]
    middle = median(base)
    return (median(subject) / middle if middle else 0.0), rounds


@dataclass(frozen=True, slots=True)
class Interval:
    """One side of a row, for a few seconds. Times in milliseconds, CPU in µs per request."""

    side: str
    round: int
    requests: int
    seconds: float
    rate: float  # a second
    p50: float
    p99: float
    errors: int
    cpu: dict[str, float]
    others: float
    steal: float
    fsync: float = 0.0  # µs, the mean of the write-ahead log's
    loop: float = 0.0  # ms that `machine.loop` took just before
    notes: dict[str, float] = field(default_factory=dict)


@dataclass
class Row:
    """The first side is what the last one is compared with; a row may have one side only."""

    name: str
    title: str
    sides: tuple[str, ...]
    connections: int | None = None
    least: float | None = None  # of the ratio
    aim: float | None = None
    compared: str = "rate"  # the figure the ratio is of
    at_most: bool = False  # the ratio must not exceed `least`
    intervals: list[Interval] = field(default_factory=list)
    limits: dict[str, tuple[float, float]] = field(default_factory=dict)  # figure: (must, aim)

    def of(self, side: str) -> list[Interval]:
        return sorted((one for one in self.intervals if one.side == side), key=lambda i: i.round)

    def middle(self, side: str, figure: str) -> float:
        """The median over the rounds."""
        values: list[float] = [getattr(one, figure) for one in self.of(side)]
        return median(values)

    def cpu(self, side: str) -> dict[str, float]:
        groups = self.of(side)[0].cpu
        return {name: median(one.cpu.get(name, 0.0) for one in self.of(side)) for name in groups}

    def errors(self, side: str) -> int:
        return sum(one.errors for one in self.of(side))

    def notes(self) -> dict[str, float]:
        """What the subject's intervals say beside the figures; medians."""
        found = self.of(self.subject)
        return {name: median(one.notes[name] for one in found) for name in found[0].notes}

    def others(self, side: str) -> float:
        return max(one.others for one in self.of(side))

    @property
    def subject(self) -> str:
        return self.sides[-1]

    def ratio(self) -> tuple[float, list[float]] | None:
        if len(self.sides) < 2:
            return None
        base, subject = (
            [getattr(one, self.compared) for one in self.of(side)]
            for side in (self.sides[0], self.sides[-1])
        )
        return ratios(base, subject)

    def misses(self) -> list[str]:
        """What is not as good as it must be, in words."""
        found = []
        ratio = self.ratio()
        if ratio and self.least is not None and not self.reaches(ratio[0], self.least):
            word = "at most" if self.at_most else "at least"
            found.append(f"{self.label}: {ratio[0]:.3f}, {word} {self.least:g}")
        for figure, (must, _aim) in self.limits.items():
            value = self.middle(self.subject, figure)
            if value > must:
                found.append(f"{self.label}: {figure} {value:.1f} ms, at most {must:g}")
        return found

    def reaches(self, ratio: float, limit: float) -> bool:
        return ratio <= limit if self.at_most else ratio >= limit

    def drift(self) -> float:
        """How many times slower the processor itself was at its worst than at its best."""
        loops = [one.loop for one in self.intervals if one.loop]
        return max(loops) / min(loops) if loops else 1.0

    def is_noisy(self) -> bool:
        return any(one.others > NOISY for one in self.intervals)

    @property
    def label(self) -> str:
        return f"{self.name} c={self.connections}" if self.connections else self.name

    def as_dict(self) -> dict[str, Any]:
        """For the file: everything, with the figures the table shows."""
        ratio = self.ratio()
        summary = {
            side: {
                **{
                    name: self.middle(side, name)
                    for name in ("rate", "p50", "p99", "others", "fsync", "loop")
                },
                "cpu": self.cpu(side),
                "errors": self.errors(side),
            }
            for side in self.sides
        }
        found = asdict(self) | {"summary": summary, "misses": self.misses()}
        return found | ({"ratio": ratio[0], "ratios": ratio[1]} if ratio else {})
