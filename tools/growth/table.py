"""Formats the figures as a table: a line each, a column for every size."""

from collections.abc import Sequence

from tools.growth.figures import Figure, Group, Results, Row

_TITLES = {
    Group.HOT: "Hot statements: blocks, ms in PostgreSQL",
    Group.PAGE: "Pages: blocks, ms of CPU and statements",
    Group.JOB: "Jobs: blocks, ms",
    Group.EXPORT: "Exports: ms of 1,000 rows",
}
_NAME, _COLUMN = 44, 22


def table(results: Results, sizes: Sequence[int]) -> str:
    lines: list[str] = []
    for group, title in _TITLES.items():
        rows = [row for row in results if row.group is group]
        if rows:
            heads = "".join(f"{size:>{_COLUMN},}" for size in sizes)
            lines += ["", f"{title:<{_NAME}}{heads}  growth"]
            lines += [_line(row, sizes) for row in rows]
    return "\n".join(lines).lstrip("\n")


def _line(row: Row, sizes: Sequence[int]) -> str:
    cells = "".join(f"{_cell(row.at.get(size)):>{_COLUMN}}" for size in sizes)
    mark = "  OVER" if row.is_over() else ""
    return f"{row.name[: _NAME - 1]:<{_NAME}}{cells}  {row.growth(row.last):5.2f}{mark}"


def _cell(figure: Figure | None) -> str:
    return f"{figure.blocks:,} {figure.ms:9,.1f}" if figure else "–"
