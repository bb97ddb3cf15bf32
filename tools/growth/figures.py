"""The figures of each size as a table, with those that grow beyond their bounds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from tools.command_line import columns

# Figures are compared with those at this size, or the next larger one. The same bounds hold for
# smaller databases, whose plans may be worse.
BASE_SIZE = 100_000
HOT_GROWTH = 1.3  # times the blocks at the base size
PAGE_MS = 200.0
EXPORT_GROWTH = 1.5  # times the ms of a row at the base size
FEW = 8  # blocks that an additional page or index level may cost


class Group(StrEnum):
    HOT = "hot"
    PAGE = "page"
    JOB = "job"
    EXPORT = "export"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measurement: `ms` of a page is CPU and statements; of an export, for 1,000 rows."""

    group: Group
    name: str
    blocks: int
    ms: float
    statement: str = ""  # the statement that read most blocks

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Figure":
        return cls(**{**stored, "group": Group(stored["group"])})


@dataclass(slots=True)
class Row:
    group: Group
    name: str
    at: dict[int, Figure] = field(default_factory=dict)  # by number of messages

    @property
    def base_size(self) -> int:
        return min((size for size in self.at if size >= BASE_SIZE), default=min(self.at))

    @property
    def base(self) -> Figure:
        return self.at[self.base_size]

    @property
    def last(self) -> Figure:
        return self.at[max(self.at)]

    def growth(self, figure: Figure) -> float:
        """Growth of blocks relative to the base size; of an export's time."""
        if self.group is Group.EXPORT:
            return figure.ms / self.base.ms if self.base.ms else 1.0
        return figure.blocks / max(1, self.base.blocks)

    def is_exceeded(self) -> bool:
        for size, figure in self.at.items():
            growth = self.growth(figure)
            added = figure.blocks - self.base.blocks
            if (
                (self.group is Group.PAGE and figure.ms > PAGE_MS)
                or (self.group is Group.HOT and growth > HOT_GROWTH and added > FEW)
                or (self.group is Group.EXPORT and growth > EXPORT_GROWTH and size > self.base_size)
            ):
                return True
        return False

    def as_dict(self) -> dict[str, Any]:
        row = {str(size): asdict(figure) for size, figure in self.at.items()}
        return {
            "group": self.group,
            "name": self.name,
            "is_exceeded": self.is_exceeded(),
            "at": row,
        }


class Results:
    def __init__(self) -> None:
        self._rows: dict[tuple[Group, str], Row] = {}

    def __iter__(self) -> Iterator[Row]:
        order = list(Group)
        return iter(sorted(self._rows.values(), key=lambda row: order.index(row.group)))

    def add(self, size: int, figure: Figure) -> None:
        key = figure.group, figure.name
        self._rows.setdefault(key, Row(*key)).at[size] = figure

    def exceeding(self) -> list[Row]:
        return [row for row in self if row.is_exceeded()]


_TITLES = {
    Group.HOT: "Hot statements: blocks, ms in PostgreSQL",
    Group.PAGE: "Pages: blocks, ms of CPU and statements",
    Group.JOB: "Jobs: blocks, ms",
    Group.EXPORT: "Exports: ms of 1,000 rows",
}


def table(results: Results, sizes: Sequence[int]) -> str:
    def cells(row: Row) -> Iterator[str]:
        yield row.name
        for size in sizes:
            figure = row.at.get(size)
            yield f"{figure.blocks:,}" if figure else "–"
            yield f"{figure.ms:,.1f}" if figure else ""
        yield f"{row.growth(row.last):.2f}"
        yield "OVER" if row.is_exceeded() else ""

    heads = [head for size in sizes for head in (f"{size:,}", "")]
    lines: list[str] = []
    for group, title in _TITLES.items():
        rows = [list(cells(row)) for row in results if row.group is group]
        lines += ["", *columns([[title, *heads, "growth"], *rows])] if rows else []
    return "\n".join(lines).lstrip("\n")
