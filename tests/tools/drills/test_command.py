"""The exit code of `make drill ARGS=all`."""

import sys
from pathlib import Path

import pytest

from tools import drills


@pytest.mark.parametrize(("ending", "code"), [("exit 1", 1), ("kill -KILL $$", 2)])
def test_drill_that_was_killed_is_none_that_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, code: int
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{ending}\n", encoding="ascii")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))

    assert drills._in_a_process("web", ["all"]) == code
