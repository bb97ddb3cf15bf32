"""The bill of materials lists what the lock file pins."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from config.environment.variables import ROOT

TOOL = ROOT / "var/deploy-tools/bin/cyclonedx-py"


@pytest.mark.skipif(not TOOL.exists(), reason="make deploy-tools has not run")
def test_bill_of_materials_lists_every_locked_package(tmp_path: Path) -> None:
    file = tmp_path / "kvitok.cdx.json"
    recipe = (ROOT / "Makefile").read_text("utf-8").partition("\nsbom:")[2].splitlines()[1]
    command = recipe.strip().removeprefix("@").replace("var/kvitok.cdx.json", str(file))
    subprocess.run(command, shell=True, cwd=ROOT, check=True, capture_output=True)  # noqa: S602

    bill = json.loads(file.read_text("utf-8"))
    locked = (ROOT / "requirements/base.txt").read_text("utf-8")

    pinned = set(re.findall(r"^([\w.-]+)==([\w.]+)", locked, re.MULTILINE))
    assert len(pinned) > 50
    assert {(component["name"], component["version"]) for component in bill["components"]} == pinned
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["name"] == "kvitok"
