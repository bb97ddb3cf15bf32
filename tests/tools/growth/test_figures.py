"""Bounds of what grows: blocks of hot statements, times of pages, time of a file's rows."""

from pathlib import Path

import pytest

from tools.growth.figures import Figure, Group, Results, draw, table

SIZES = (100_000, 1_000_000)


def results(group: Group, first: tuple[int, float], last: tuple[int, float]) -> Results:
    found = Results()
    for size, (blocks, ms) in zip(SIZES, (first, last), strict=True):
        found.add(size, Figure(group, "one", blocks, ms))
    return found


@pytest.mark.parametrize(
    ("group", "first", "last", "is_over"),
    [
        (Group.HOT, (100, 1), (130, 900), False),  # machines differ, blocks do not
        (Group.HOT, (100, 1), (131, 1), True),
        (Group.HOT, (4, 1), (8, 1), False),  # a level more in each of a few indexes
        (Group.HOT, (100, 1), (50, 1), False),
        (Group.PAGE, (10, 5), (90_000, 199), False),
        (Group.PAGE, (10, 5), (10, 201), True),
        (Group.JOB, (10, 5), (90_000, 60_000), False),
        (Group.EXPORT, (0, 20), (0, 29), False),
        (Group.EXPORT, (0, 20), (0, 31), True),
    ],
)
def test_bound_of_a_group(
    group: Group, first: tuple[int, float], last: tuple[int, float], is_over: bool
) -> None:
    assert bool(results(group, first, last).over()) is is_over


@pytest.mark.parametrize(("group", "is_over"), [(Group.HOT, True), (Group.EXPORT, False)])
def test_small_database_is_held_to_the_bound_of_the_base_size(group: Group, is_over: bool) -> None:
    """Its months are planned for as small ones; a file of few rows pays for its beginning."""
    found = Results()
    for size, blocks, ms in ((5_000, 400, 60.0), (100_000, 100, 20.0), (1_000_000, 110, 21.0)):
        found.add(size, Figure(group, "one", blocks, ms))

    (row,) = found
    assert row.base == row.at[100_000]
    assert bool(found.over()) is is_over


def test_table_has_a_column_for_each_size_and_marks_what_is_over() -> None:
    lines = table(results(Group.HOT, (100, 1.5), (400, 2.5)), SIZES).splitlines()

    assert lines[0].split()[-3:] == ["100,000", "1,000,000", "growth"]
    assert lines[1].split() == ["one", "100", "1.5", "400", "2.5", "4.00", "OVER"]


def test_row_that_only_one_size_has_is_shown() -> None:
    found = results(Group.PAGE, (10, 5), (10, 5))
    found.add(SIZES[1], Figure(Group.PAGE, "list, last page", 10, 5))

    assert "–" in table(found, SIZES).splitlines()[2]
    assert found.over() == []


def test_stored_figures_are_read_back() -> None:
    (row,) = results(Group.JOB, (1, 2.0), (3, 4.0))
    stored = row.as_dict()

    assert Figure.of(stored["at"]["100000"]) == row.base
    assert (stored["group"], stored["is_over"]) == ("job", False)


def test_the_drawing_shows_every_row_and_size(tmp_path: Path) -> None:
    draw(results(Group.HOT, (5, 1), (5_000, 1)), tmp_path)

    drawn = (tmp_path / "growth-hot.svg").read_text(encoding="utf-8")
    assert "Blocks that hot statements read" in drawn
    assert drawn.count("<circle") == 2
    assert all(f">{text}<" in drawn for text in ("one", "100,000", "1,000,000", "10,000"))


def test_one_size_is_drawn(tmp_path: Path) -> None:
    found = Results()
    found.add(10, Figure(Group.HOT, "one", 0, 0.0))

    draw(found, tmp_path)

    assert "<circle" in (tmp_path / "growth-hot.svg").read_text(encoding="utf-8")
