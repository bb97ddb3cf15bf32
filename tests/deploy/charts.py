"""The Helm chart as Helm renders it."""

import json
import subprocess
from typing import Any

from config.environment.variables import ROOT

PYTHON = ROOT / "var/deploy-tools/bin/python"
REQUIRED_VALUES = {"existingSecret": "kvitok", "migrate": {"existingSecret": "kvitok-owner"}}
ADDRESSES = {"PUBLIC_URL": "https://kvitok.test", "SHORT_URL": "https://go.test"}


def render(values: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        [PYTHON, ROOT / "tests/deploy/render_chart.py"],
        input=json.dumps(values),
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loads: dict[str, Any] = json.loads(done.stdout)
    return loads


def by_name(values: dict[str, Any]) -> dict[str, Any]:
    manifests = render(values)["manifests"]
    return {
        f"{manifest['kind']} {manifest['metadata']['name']}": manifest for manifest in manifests
    }


def pods(everything: dict[str, Any]) -> dict[str, Any]:
    result = {}
    for name, manifest in everything.items():
        spec = manifest["spec"].get("jobTemplate", manifest)["spec"]
        if name.startswith(("Deployment", "Job", "CronJob")):
            result[name] = spec["template"]["spec"]
    return result
