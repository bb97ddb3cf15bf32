"""Files of a development run are readable by their owner only, older ones included."""

import stat
import sys
from pathlib import Path

import pytest

from config.local.preflight import FOLDERS, make_private
from config.local.processes import spawn


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def open_to_others(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.parent.chmod(0o755)
    path.write_text("secret", encoding="utf-8")
    path.chmod(0o644)
    return path


def test_folders_are_made_private(tmp_path: Path) -> None:
    make_private(tmp_path)

    assert {mode(tmp_path / name) for name in FOLDERS} == {0o700}


@pytest.mark.parametrize(
    "name",
    [
        "mail/20261122.log",
        "log/web.log",
        "log/web.log.1",
        "metrics/counter.db",
        "demo.json",
        "environment.json",
        "secrets.json",
        "simulator.sqlite3",
        "simulator.sqlite3-wal",
        "simulator.sqlite3.lock",
        "beat-schedule",
        "lock",
    ],
)
def test_files_of_an_earlier_run_are_taken_from_others(tmp_path: Path, name: str) -> None:
    path = open_to_others(tmp_path / name)

    make_private(tmp_path)

    assert mode(path) == 0o600
    assert path.parent == tmp_path or mode(path.parent) == 0o700


def test_what_is_not_ours_stays_as_it_was(tmp_path: Path) -> None:
    foreign = open_to_others(tmp_path / "notes.txt")
    target = open_to_others(tmp_path / "elsewhere" / "target")
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "link").symlink_to(target)

    make_private(tmp_path)

    assert {mode(foreign), mode(target)} == {0o644}
    assert mode(tmp_path) == 0o755


def test_children_write_for_the_user_alone(tmp_path: Path) -> None:
    code = "open('made', 'w').write('x')"

    child = spawn([sys.executable, "-c", code], log=tmp_path / "child.log", cwd=tmp_path)

    assert child.wait(20) == 0
    assert {mode(tmp_path / name) for name in ("made", "child.log")} == {0o600}
