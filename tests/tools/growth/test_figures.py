"""Bounds of what grows: blocks of hot statements, times of pages, time of a file's rows."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from config.environment.variables import ROOT
from tools.growth.figures import Figure, Group, Results

SIZES = (100_000, 1_000_000)


def results(group: Group, first: tuple[int, float], last: tuple[int, float]) -> Results:
    result = Results()
    for size, (blocks, ms) in zip(SIZES, (first, last), strict=True):
        result.add(size, Figure(group, "one", blocks, ms))
    return result


@pytest.mark.parametrize(
    ("group", "first", "last", "is_exceeded"),
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
    group: Group, first: tuple[int, float], last: tuple[int, float], is_exceeded: bool
) -> None:
    assert bool(results(group, first, last).exceeding()) is is_exceeded


@pytest.mark.parametrize(("group", "is_exceeded"), [(Group.HOT, True), (Group.EXPORT, False)])
def test_small_database_is_held_to_the_bound_of_the_base_size(
    group: Group, is_exceeded: bool
) -> None:
    """Its months are planned for as small ones; a file of few rows pays for its beginning."""
    result = Results()
    for size, blocks, ms in ((5_000, 400, 60.0), (100_000, 100, 20.0), (1_000_000, 110, 21.0)):
        result.add(size, Figure(group, "one", blocks, ms))

    (row,) = result
    assert row.base == row.at[100_000]
    assert bool(result.exceeding()) is is_exceeded


@pytest.mark.slow
@pytest.mark.timeout(400)  # a server, all migrations and a history, on a busy machine
def test_command_measures_and_keeps_what_it_found(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    command = ["-m", "tools.growth", "--sizes", "400", "--companies", "2", "--months", "1"]
    command += ["--only", "hot", "--json", str(figures)]

    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode in {0, 1}, done.stderr[-2000:]
    assert "send a code" in done.stdout
    stored = json.loads(figures.read_text())
    assert [filling["messages"] for filling in stored["fillings"]] == [400]
    assert {"400"} == set(stored["rows"][0]["at"])
