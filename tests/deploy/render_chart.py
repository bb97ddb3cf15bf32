"""Renders the chart by Helm's own library; run by the Python of `make deploy-tools`.

Reads values as JSON; writes the manifests, or Helm's refusal, as JSON.
"""

import json
import sys
from pathlib import Path

import helm_python as helm
import kubernetes_validate
import yaml

CHART = Path(__file__).parents[2] / "deploy/helm/kvitok"
KUBERNETES = "1.31"


def render(values: dict[str, object]) -> dict[str, object]:
    with helm.Chart.load(str(CHART)) as chart:
        try:
            files = chart.render(values, name="demo", namespace="production")
        except helm.HelmError as error:
            return {"refused": str(error)}
    manifests = [
        manifest for text in files.values() for manifest in yaml.safe_load_all(text) if manifest
    ]
    for manifest in manifests:
        kubernetes_validate.validate(manifest, KUBERNETES, strict=True)
    return {"manifests": manifests}


json.dump(render(json.load(sys.stdin)), sys.stdout)
