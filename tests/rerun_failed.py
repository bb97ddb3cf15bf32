"""Runs the tests that failed in the last run once more, alone: `python -m tests.rerun_failed`.

Those that pass now are flaky. They are named and do not fail the run, unless there are too many of
which tests/README.md does not know the cause.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
UNEXPLAINED = 3  # flaky tests of unknown cause that fail a run
EXIT_STATUS = "kvitok/exitstatus"  # in pytest's cache, set by tests.servers
_KNOWN = re.compile(r"^\| `(?P<test>[^`]+)` \|.*\| known: [^|]+\|$", re.MULTILINE)


def main(root: Path = ROOT) -> int:
    """The exit status: 0 if all pass alone."""
    status, said = rerun(root)
    sys.stdout.write(f"{said}\n")
    return status


def rerun(root: Path) -> tuple[int, str]:
    """Returns the exit status and what to say of it."""
    failed = failed_tests(root / ".pytest_cache" / "v")
    if not failed:
        return 1, "The tests did not run to their end: there is nothing to run again."
    unexplained = sorted(set(failed) - explained_tests(root / "tests" / "README.md"))
    if len(unexplained) >= UNEXPLAINED:
        return 1, f"{len(unexplained)} tests of unknown cause failed: none is run again."
    if status := _run(root, failed):
        return status, "These tests fail alone, too."
    lines = [f"FLAKY {test}{'' if test in unexplained else ' (cause known)'}" for test in failed]
    advice = "Passed alone. Find the cause of each, and add it to the table in tests/README.md."
    return 0, "\n".join([*lines, advice])


def failed_tests(cache: Path) -> list[str]:
    """None unless the run came to its end: a crash may have hidden other failures."""
    try:
        status = json.loads((cache / EXIT_STATUS).read_text())
        failed = json.loads((cache / "cache" / "lastfailed").read_text())
    except FileNotFoundError:
        return []
    return sorted(failed) if status == pytest.ExitCode.TESTS_FAILED else []


def explained_tests(readme: Path) -> set[str]:
    """Tests whose row says `known: …`; a fixed test that fails again is not explained."""
    return {row["test"] for row in _KNOWN.finditer(readme.read_text(encoding="utf-8"))}


def _run(root: Path, tests: list[str]) -> int:
    command = [sys.executable, "-m", "pytest", "-m", "", *tests]
    return subprocess.run(command, cwd=root, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
