"""The profile: its names are those of the service; its tables add up to what the kernel counted."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.environment.variables import ROOT
from config.local.checkout import CHECKOUT
from tools.bench.profile import python_stacks


@pytest.mark.long
@pytest.mark.timeout(300)
def test_profile_tables_match_kernel_counts(tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    options = ["--messages", "60", "--rounds", "1", "--json", str(file)]
    completed = subprocess.run(
        [sys.executable, "-m", "tools.bench.profile", *options],
        env={"PATH": os.environ["PATH"]},
        cwd=CHECKOUT,
        check=False,
        capture_output=True,
        text=True,
        timeout=280,
    )

    assert completed.returncode == 0, completed.stdout[-2000:] + completed.stderr[-2000:]
    loads = json.loads(file.read_text())
    for program in ("postgres for web", "postgres for worker"):
        named = sum(cost["cpu"] for cost in loads["statements"][program].values())
        assert 0.6 < named / loads["logged_us"][program] < 1.05
    web_statements = loads["statements"]["postgres for web"]
    # What comes together shares a statement.
    assert 0.2 < web_statements["channels.outcomes.inbound_receipts._STORE"]["calls"] <= 2
    checks = [cost["calls"] for name, cost in web_statements.items() if "CHECK_CODE" in name]
    assert 0.1 < sum(checks) <= 1
    sampled = sum(loads["python"]["web 1"].values()) + sum(loads["python"]["web 2"].values())
    web = loads["sampled_us"]["web 1"] + loads["sampled_us"]["web 2"]
    assert sampled * python_stacks.INTERVAL * 1000 / 60 > 0.6 * web
    assert loads["counts"]["rows inserted"] > 5


def test_every_activity_is_a_function_of_the_service() -> None:
    for file, function, _name in python_stacks.ACTIVITIES:
        if not file.startswith(("celery", "kombu")):
            source = (ROOT / file).read_text(encoding="utf-8")
            assert f"def {function}" in source, f"{file} has no {function}"
