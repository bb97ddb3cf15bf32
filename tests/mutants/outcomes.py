"""A pytest plugin that tells assertion failures from all other failures.

A mutant is caught only by an assertion. A test that cannot be imported or set up, or that dies of
an error, says nothing of the guard: another one may have been in its way.
"""

from collections.abc import Generator, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson
import pytest


class Outcome(StrEnum):
    CAUGHT = "caught"
    SURVIVED = "SURVIVED"
    BROKEN = "BROKEN"


PASSED = "passed"
ASSERTION = "assertion"
ERROR = "error"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--endings", type=Path, help="a file for one line of JSON per test")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "call" or report.failed:
        with item.config.getoption("--endings").open("ab") as file:
            file.write(orjson.dumps([item.nodeid, ending_of(call)]) + b"\n")
    return report


def ending_of(call: pytest.CallInfo[Any]) -> str:
    if call.excinfo is None:
        return PASSED
    error = call.excinfo.value
    did_not_raise = isinstance(error, pytest.fail.Exception) and "DID NOT RAISE" in str(error)
    is_assertion = isinstance(error, AssertionError) or did_not_raise
    return ASSERTION if call.when == "call" and is_assertion else ERROR


def read(path: Path) -> list[tuple[str, str]]:
    """(test, how it ended) for every test that ran."""
    if not path.exists():
        return []
    return [(node, how) for node, how in map(orjson.loads, path.read_bytes().splitlines())]


def outcome_of(check: str, endings: Iterable[tuple[str, str]]) -> Outcome:
    """The outcome of the named check, in any of its parametrisations, on the mutant it ran on."""
    ways = {how for node, how in endings if node == check or node.startswith(f"{check}[")}
    if ASSERTION in ways:
        return Outcome.CAUGHT
    return Outcome.SURVIVED if ways == {PASSED} else Outcome.BROKEN
