"""The systemd units confine their processes."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from config.environment.variables import ROOT

MAX_EXPOSURE = 3.0  # of 10; `systemd-analyze security` calls anything below 3 OK
UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))
ANALYZE = shutil.which("systemd-analyze")


@pytest.mark.skipif(ANALYZE is None, reason="no systemd here")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_unit_is_hardly_exposed(unit: Path) -> None:
    done = subprocess.run(
        [str(ANALYZE), "security", "--offline=true", "--no-pager", unit],
        text=True,
        capture_output=True,
        check=False,
    )

    match = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert match, done.stderr
    assert float(match[1]) <= MAX_EXPOSURE


def test_units_are_confined_alike() -> None:
    confined = [unit.read_text("utf-8").partition("NoNewPrivileges=")[2] for unit in UNITS]
    confined = [text.partition("[Install]")[0].strip() for text in confined]

    assert len(UNITS) == 7
    assert len(set(confined)) == 1
