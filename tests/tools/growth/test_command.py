import json
import subprocess
import sys
from pathlib import Path

import pytest

from config.environment.variables import ROOT


@pytest.mark.slow
@pytest.mark.timeout(400)  # a server, all migrations and a history, on a busy machine
def test_command_measures_and_keeps_what_it_found(tmp_path: Path) -> None:
    figures, plots = tmp_path / "figures.json", tmp_path / "plots"
    command = ["-m", "tools.growth", "--sizes", "400", "--companies", "2", "--months", "1"]
    command += ["--only", "hot", "--json", str(figures), "--plots", str(plots)]

    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode in {0, 1}, done.stderr[-2000:]
    assert "send a code" in done.stdout
    stored = json.loads(figures.read_text())
    assert [filling["messages"] for filling in stored["fillings"]] == [400]
    assert {"400"} == set(stored["rows"][0]["at"])
    assert "<svg" in (plots / "growth-hot.svg").read_text()
