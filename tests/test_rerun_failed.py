"""Failed tests run once more: real runs of pytest in a small project."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import rerun_failed

# Each `flaky_…` fails until its file exists, which its first run makes.
TESTS = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("name", {names})
def test_one(name):
    if name.startswith("flaky"):
        seen = Path(name)
        first = not seen.exists()
        seen.touch()
        assert not first
    assert name != "broken"
"""
RECORD = """
import pytest

def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.cache.set("kvitok/exitstatus", int(exitstatus))
"""


@pytest.fixture(autouse=True)
def _environment_of_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DJANGO_SETTINGS_MODULE", "PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # quicker


def first_run(root: Path, *names: str, known: str = "") -> None:
    (root / "tests").mkdir()
    row = f"| `tests/test_some.py::test_one[{known}]` | today | known: the wind |\n"
    (root / "tests" / "README.md").write_text(row if known else "")
    (root / "tests" / "test_some.py").write_text(TESTS.format(names=list(names)))
    (root / "pytest.ini").write_text("[pytest]\n")
    (root / "conftest.py").write_text(RECORD)
    command = [sys.executable, "-m", "pytest", "-q"]
    subprocess.run(command, cwd=root, check=False, capture_output=True)


def test_flaky_tests_are_named_and_pass(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    first_run(tmp_path, "flaky_1", "good", "flaky_2")

    status = rerun_failed.main(tmp_path)

    assert status == 0
    printed = capfd.readouterr().out.splitlines()
    named = [line for line in printed if line.startswith("FLAKY")]
    assert named == [f"FLAKY tests/test_some.py::test_one[flaky_{number}]" for number in (1, 2)]


def test_broken_test_fails_again(tmp_path: Path) -> None:
    first_run(tmp_path, "flaky_1", "broken")

    assert rerun_failed.main(tmp_path) == pytest.ExitCode.TESTS_FAILED


TOO_MANY = [f"flaky_{number}" for number in range(1, rerun_failed.UNEXPLAINED + 1)]


def test_too_many_of_unknown_cause_fail(tmp_path: Path) -> None:
    first_run(tmp_path, *TOO_MANY)

    assert rerun_failed.main(tmp_path) == 1


def test_known_cause_does_not_count(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    first_run(tmp_path, *TOO_MANY, known="flaky_2")

    assert rerun_failed.main(tmp_path) == 0
    assert "FLAKY tests/test_some.py::test_one[flaky_2] (cause known)" in capfd.readouterr().out


@pytest.mark.parametrize("change", ["no status", "interrupted", "no record of failures"])
def test_run_that_did_not_end_fails(tmp_path: Path, change: str) -> None:
    first_run(tmp_path, "flaky_1")
    cache = tmp_path / ".pytest_cache" / "v"
    match change:
        case "no status":
            (cache / rerun_failed.EXIT_STATUS).unlink()
        case "interrupted":
            (cache / rerun_failed.EXIT_STATUS).write_text("2")
        case _:
            (cache / "cache" / "lastfailed").unlink()

    assert rerun_failed.main(tmp_path) == 1


def test_this_run_records_its_status(pytestconfig: pytest.Config) -> None:
    plugin = pytestconfig.pluginmanager.get_plugin("tests.servers")

    assert hasattr(plugin, "pytest_sessionfinish")
