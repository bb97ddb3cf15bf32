"""Results: intervals, rows of intervals, and the table of rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from math import ceil
from statistics import median
from typing import Any

from tools.command_line import columns

NOISY = 0.3  # cores used by others, above which an interval is marked


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
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
    """The last side is compared with the first; a row may have only one side."""

    name: str
    title: str
    sides: tuple[str, ...]
    connections: int | None = None
    least: float | None = None  # of the ratio
    aim: float | None = None
    compared: str = "rate"  # the figure whose ratio is taken
    at_most: bool = False  # the ratio must not exceed `least`
    intervals: list[Interval] = field(default_factory=list)
    limits: dict[str, tuple[float, float]] = field(default_factory=dict)  # figure: (must, aim)

    def of(self, side: str) -> list[Interval]:
        return sorted((row for row in self.intervals if row.side == side), key=lambda i: i.round)

    def middle(self, side: str, figure: str) -> float:
        """The median over the rounds."""
        values: list[float] = [getattr(row, figure) for row in self.of(side)]
        return median(values)

    def cpu(self, side: str) -> dict[str, float]:
        return self._medians(side, "cpu")

    def notes(self) -> dict[str, float]:
        """The notes beside the figures, from the subject's intervals."""
        return self._medians(self.subject, "notes")

    def _medians(self, side: str, figures: str) -> dict[str, float]:
        tables = [getattr(row, figures) for row in self.of(side)]
        return {name: median(row.get(name, 0.0) for row in tables) for name in tables[0]}

    def errors(self, side: str) -> int:
        return sum(row.errors for row in self.of(side))

    def others(self, side: str) -> float:
        return max(row.others for row in self.of(side))

    @property
    def subject(self) -> str:
        return self.sides[-1]

    def ratio(self) -> tuple[float, list[float]] | None:
        if len(self.sides) < 2:
            return None
        sides = (self.of(side) for side in (self.sides[0], self.sides[-1]))
        return ratios(*([getattr(row, self.compared) for row in of_side] for of_side in sides))

    def budgets(self) -> Iterator["Budget"]:
        if ratio := self.ratio():
            of = "" if self.compared == "rate" else f" of {self.compared}"
            rounds = " ".join(f"{n:.2f}" for n in ratio[1])
            title = f"ratio{of} {ratio[0]:.3f} ({rounds})"
            yield Budget(title, ratio[0], self.least, self.aim, is_ceiling=self.at_most)
        for figure, (must, aim) in self.limits.items():
            value = self.middle(self.subject, figure)
            yield Budget(f"{figure} {value:.2f} ms", value, must, aim, is_ceiling=True)

    def misses(self) -> list[str]:
        """The unmet budgets as text."""
        return [f"{self.label}: {budget.text()}" for budget in self.budgets() if budget.is_missed]

    @property
    def label(self) -> str:
        return f"{self.name} c={self.connections}" if self.connections else self.name

    def as_dict(self) -> dict[str, Any]:
        """Everything as a dict for the file, with the figures that the table shows."""
        ratio = self.ratio()
        figures = ("rate", "p50", "p99", "others", "fsync", "loop")
        summary = {
            side: {name: self.middle(side, name) for name in figures}
            | {"cpu": self.cpu(side), "errors": self.errors(side)}
            for side in self.sides
        }
        facts = asdict(self) | {"summary": summary, "misses": self.misses()}
        return facts | ({"ratio": ratio[0], "ratios": ratio[1]} if ratio else {})


@dataclass(frozen=True, slots=True)
class Budget:
    """A figure's hard limit and its aim; both are None if it is only shown."""

    what: str
    value: float
    must: float | None
    aim: float | None
    is_ceiling: bool = False

    def reaches(self, limit: float) -> bool:
        return self.value <= limit if self.is_ceiling else self.value >= limit

    @property
    def is_missed(self) -> bool:
        return self.must is not None and not self.reaches(self.must)

    def text(self) -> str:
        if self.must is None:
            return self.what
        aim = self.must if self.aim is None else self.aim
        aimed = "" if self.aim is None else f", aim {self.aim:g}"
        below = "MISSED" if self.is_missed else "enough, below the aim"
        limit = f"at {'most' if self.is_ceiling else 'least'} {self.must:g}{aimed}"
        return f"{self.what}: {limit}  {'OK' if self.reaches(aim) else below}"


# Groups of processes in the order of the report, and their names.
GROUPS = {"web": "web", "floor": "web", "hello": "web", "worker": "worker"}
GROUPS |= {"simulator": "sim", "postgres": "pg", "redis": "redis", "client": "client"}
STOLEN = 0.1  # cores, from which the summary mentions it
DRIFT = 1.3  # factor, from which the summary mentions it
_HEAD = ("row", "c", "side", "per s", "p50 ms", "p99 ms", "errors", "others", "fsync", "loop")


def table(rows: Iterable[Row]) -> str:
    rows = list(rows)
    sides = [(row, side) for row in rows for side in row.sides]
    head, *lines = columns([_HEAD, *(_cells(row, side) for row, side in sides)], left=3)
    groups = (cpu(row.cpu(side)) for row, side in sides)
    remaining = (f"{line}  {spent}" for line, spent in zip(lines, groups, strict=True))
    table_lines = [f"{head}  CPU µs each"]
    for row in rows:
        table_lines += ["", *islice(remaining, len(row.sides))]
        table_lines += [f"{'':13} {text}" for text in _remarks(row)]
    return "\n".join(table_lines)


def _cells(row: Row, side: str) -> Sequence[str]:
    is_first = side == row.sides[0]
    return (
        row.name if is_first else "",
        str(row.connections or "") if is_first else "",
        side,
        f"{row.middle(side, 'rate'):,.0f}",
        f"{row.middle(side, 'p50'):.2f}",
        f"{row.middle(side, 'p99'):.2f}",
        str(row.errors(side)),
        f"{row.others(side):.2f}{'!' if row.others(side) > NOISY else ''}",
        f"{row.middle(side, 'fsync'):.0f}",
        f"{row.middle(side, 'loop'):.1f}",
    )


def _remarks(row: Row) -> list[str]:
    lines = [budget.text() for budget in row.budgets()]
    if notes := row.notes():
        lines.append(" · ".join(f"{name} {_number(value)}" for name, value in notes.items()))
    return lines


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def cpu(groups: Mapping[str, float]) -> str:
    """The CPU time of each group of processes for one request; idle groups are left out."""
    least = sum(groups.values()) / 100
    largest = {name: groups[name] for name in GROUPS if groups.get(name, 0.0) > least}
    return " · ".join(
        f"{GROUPS[name]} {microseconds:,.0f}" for name, microseconds in largest.items()
    )


LEGEND = """\
p99 counts what a stall kept waiting, too (wrk's correction). others: cores used by other programs.
fsync: µs, the mean of the log's. loop: ms of a fixed piece of Python just before; where it differs
between two sides, or two runs, so did the processor. CPU: µs for each request, by processes."""


def summary(rows: Iterable[Row]) -> str:
    rows = list(rows)
    misses = [miss for row in rows for miss in row.misses()]
    wrong = [row.label for row in rows if any(span.errors for span in row.intervals)]
    noisy = [row.label for row in rows if any(span.others > NOISY for span in row.intervals)]
    lines = [LEGEND, "", f"Below what is asked: {'; '.join(misses) or 'nothing'}."]
    # The processor's slowest speed relative to its fastest.
    loops = [[span.loop for span in row.intervals if span.loop] for row in rows]
    drift = max((max(loop) / min(loop) for loop in loops if loop), default=1.0)
    stolen = max((span.steal for row in rows for span in row.intervals), default=0.0)
    if wrong:
        lines.append(f"With wrong or missing answers: {', '.join(wrong)}.")
    if noisy:
        lines.append(f"! Others took more than {NOISY} cores meanwhile: {', '.join(noisy)}.")
    if drift > DRIFT:
        lines.append(f"A fixed piece of work took up to {drift:.1f} times as long as at its best.")
    if stolen > STOLEN:
        lines.append(f"The host took up to {stolen:.2f} cores from this machine.")
    return "\n".join(lines)
