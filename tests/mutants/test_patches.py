"""Every patch applies to the current tree; `make mutants` checks that each is caught."""

import ast
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.mutants import outcomes
from tests.mutants.outcomes import ASSERTION, ERROR, PASSED, Outcome, outcome_of
from tests.mutants.patches import FOLDER, ROOT, Hunk, PatchError, read, read_all

PATCHES = sorted(FOLDER.glob("*.patch"))
CHECK = "tests/test_some.py::test_thing"


@pytest.mark.parametrize("path", PATCHES, ids=lambda path: path.stem)
def test_patch_removes_its_guard(path: Path) -> None:
    mutant = read(path)

    for file, text in mutant.applied(ROOT).items():
        if file.suffix == ".py":
            ast.parse(text)
        assert text != file.read_text(encoding="utf-8")
    for check in mutant.checks:
        module, _, name = check.partition("[")[0].rpartition("::")
        source = (ROOT / module.partition("::")[0]).read_text(encoding="utf-8")
        assert f"def {name}(" in source, check


def test_each_mutant_removes_another_guard() -> None:
    mutants = read_all()

    assert len(mutants) > 40
    assert len({mutant.guard for mutant in mutants}) == len(mutants)
    assert len({mutant.hunks for mutant in mutants}) == len(mutants)


PATCH = """Guard: doors are shut
Caught-by: tests/test_some.py::test_thing

diff --git a/house.py b/house.py
index 83db48f..bf269f4 100644
--- a/house.py
+++ b/house.py
@@ -1,4 +1,3 @@ def leave() -> None:
 def leave() -> None:

-    shut(doors)
     go()
"""
HOUSE = "# A house.\ndef leave() -> None:\n\n    shut(doors)\n    go()\n"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    (tmp_path / "house.py").write_text(HOUSE)

    def to_patch(text: str) -> Path:
        path = tmp_path / "open_doors.patch"
        path.write_text(text)
        return path

    return to_patch


def test_patch_as_git_diff_writes_it_is_read(write: Callable[..., Path], tmp_path: Path) -> None:
    mutant = read(write(PATCH))

    assert (mutant.name, mutant.guard, mutant.checks) == ("open_doors", "doors are shut", (CHECK,))
    assert mutant.applied(tmp_path) == {
        tmp_path / "house.py": HOUSE.replace("    shut(doors)\n", "")
    }


@pytest.mark.parametrize("house", [HOUSE * 2, HOUSE.replace("shut", "lock"), ""])
def test_hunk_must_match_exactly_once(house: str) -> None:
    with pytest.raises(PatchError, match=r"house\.py has [02] places"):
        Hunk("house.py", "    shut(doors)\n", "").applied(house)


@pytest.mark.parametrize(
    "text",
    [
        PATCH.replace("Guard", "Door"),
        PATCH.replace("Caught-by", "Seen-by"),
        PATCH.partition("@@")[0],
        PATCH.replace("     go()", "go()"),
    ],
)
def test_malformed_patch_is_refused(write: Callable[..., Path], text: str) -> None:
    with pytest.raises(PatchError):
        read(write(text))


@pytest.mark.parametrize(
    ("endings", "outcome"),
    [
        ([(CHECK, ASSERTION)], Outcome.CAUGHT),
        ([(f"{CHECK}[1]", PASSED), (f"{CHECK}[2]", ASSERTION)], Outcome.CAUGHT),
        ([(CHECK, PASSED)], Outcome.SURVIVED),
        ([(CHECK, ERROR)], Outcome.BROKEN),
        ([(f"{CHECK}[1]", PASSED), (f"{CHECK}[2]", ERROR)], Outcome.BROKEN),
        ([(f"{CHECK}_of_another_kind", ASSERTION)], Outcome.BROKEN),
        ([], Outcome.BROKEN),
    ],
)
def test_only_an_assertion_of_the_named_check_counts(
    endings: list[tuple[str, str]], outcome: Outcome
) -> None:
    assert outcome_of(CHECK, endings) is outcome


ENDS = """
import pytest
def test_passes(): pass
def test_asserts(): assert 1 == 2
def test_meets_no_refusal():
    with pytest.raises(ValueError): pass
def test_crashes(): raise KeyError
def test_takes_too_long(): pytest.fail("Timeout (>60.0s) from pytest-timeout.")
@pytest.fixture
def broken(): assert False
def test_is_not_set_up(broken): pass
"""


def test_assertions_differ_from_other_failures(tmp_path: Path) -> None:
    (tmp_path / "test_ends.py").write_text(ENDS)
    result = tmp_path / "endings.json"
    plugins = ["-p", "no:cacheprovider", "-p", "tests.mutants.outcomes", "--endings", str(result)]

    subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "test_ends.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        check=False,
    )

    assert {node.rpartition("::")[2]: how for node, how in outcomes.read(result)} == {
        "test_passes": PASSED,
        "test_asserts": ASSERTION,
        "test_meets_no_refusal": ASSERTION,
        "test_crashes": ERROR,
        "test_takes_too_long": ERROR,
        "test_is_not_set_up": ERROR,
    }
