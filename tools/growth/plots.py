"""The drawings in the documentation."""

from collections.abc import Sequence
from pathlib import Path

from tools.growth.chart import Value, chart
from tools.growth.figures import Group, Results

MOST = 8  # lines of a drawing
_TITLES: dict[Group, tuple[str, Value]] = {
    Group.HOT: ("Blocks that hot statements read", lambda figure: figure.blocks),
    Group.PAGE: ("Blocks that the dearest pages read", lambda figure: figure.blocks),
    Group.JOB: ("The longest jobs, ms", lambda figure: figure.ms),
}


def draw(results: Results, sizes: Sequence[int], folder: Path) -> None:
    """The rows that cost most at the largest size."""
    folder.mkdir(parents=True, exist_ok=True)
    for group, (title, value) in _TITLES.items():
        rows = [row for row in results if row.group is group]
        rows.sort(key=lambda row: value(row.last), reverse=True)
        if rows:
            drawn = chart(title, rows[:MOST], sizes, value)
            (folder / f"growth-{group}.svg").write_text(drawn, encoding="utf-8")
