"""The chart as Helm renders it, each manifest checked against Kubernetes' strict schemas."""

from typing import Any

import pytest

from config.environment.variables import ROOT
from tests.deploy.charts import ADDRESSES, PYTHON, REQUIRED_VALUES, by_name, pods, render

ALL = REQUIRED_VALUES | {
    "environment": ADDRESSES,
    "web": {"autoscaling": {"enabled": True}},
    "smpp": {"accounts": ["smpp", "smpp:kz"]},
    "metrics": {"enabled": True},
    "archive": {"enabled": True, "existingClaim": "kvitok-archive"},
    "ingress": {
        "enabled": True,
        "className": "nginx",
        "hosts": ["kvitok.test", "go.test"],
        "tlsSecret": "kvitok-tls",
    },
}
pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="make deploy-tools has not run")


@pytest.fixture(scope="module")
def everything() -> dict[str, Any]:
    return by_name(ALL)


def test_least_values_make_a_service() -> None:
    assert sorted(by_name(REQUIRED_VALUES)) == [
        "Deployment demo-kvitok-beat",
        "Deployment demo-kvitok-web",
        "Deployment demo-kvitok-worker",
        "Job demo-kvitok-migrate",
        "PodDisruptionBudget demo-kvitok-web",
        "PodDisruptionBudget demo-kvitok-worker",
        "Service demo-kvitok-web",
    ]


def test_all_values_install_optional_parts(everything: dict[str, Any]) -> None:
    assert {
        "CronJob demo-kvitok-archive",
        "Deployment demo-kvitok-smpp",
        "Deployment demo-kvitok-smpp-kz",
        "HorizontalPodAutoscaler demo-kvitok-web",
        "Ingress demo-kvitok",
    } <= everything.keys()
    assert "replicas" not in everything["Deployment demo-kvitok-web"]["spec"]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, "/existingSecret"),
        (REQUIRED_VALUES | {"existingsecret": "kvitok"}, "existingsecret"),
        (REQUIRED_VALUES | {"smpp": {"accounts": ["twilio"]}}, "/smpp/accounts"),
        (
            REQUIRED_VALUES | {"archive": {"enabled": True}},
            "archive.existingClaim names the volume",
        ),
        (REQUIRED_VALUES | {"ingress": {"enabled": True}}, "ingress.hosts names the hosts"),
    ],
)
def test_values_that_cannot_work_are_refused(values: dict[str, Any], text: str) -> None:
    assert text in render(values)["refused"]


def test_web_restarts_by_livez_and_leaves_the_service_by_readyz(everything: dict[str, Any]) -> None:
    (web, _metrics) = pods(everything)["Deployment demo-kvitok-web"]["containers"]

    paths = {name: probe["httpGet"]["path"] for name, probe in web.items() if "Probe" in name}

    assert paths == {
        "startupProbe": "/livez",
        "livenessProbe": "/livez",
        "readinessProbe": "/readyz",
    }
    assert web["readinessProbe"]["timeoutSeconds"] > 2  # /readyz answers within two seconds


@pytest.mark.parametrize(
    ("values", "address"),
    [({}, "0.0.0.0"), ({"listenAddress": "::"}, "::")],  # noqa: S104 - within a pod
)
def test_services_listen_on_pod_addresses(values: dict[str, Any], address: str) -> None:
    manifests = by_name(ALL | values)
    (web, metrics) = pods(manifests)["Deployment demo-kvitok-web"]["containers"]
    environment = {variable["name"]: variable.get("value") for variable in metrics["env"]}

    assert web["command"][web["command"].index("--host") + 1] == address
    assert environment["METRICS_HOST"] == address


def test_migrations_run_first_and_as_the_owner(everything: dict[str, Any]) -> None:
    job = everything["Job demo-kvitok-migrate"]
    (container,) = pods(everything)["Job demo-kvitok-migrate"]["containers"]
    sources = {variable["name"]: variable.get("valueFrom") for variable in container["env"]}

    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert sources["DATABASE_URL"] == {
        "secretKeyRef": {"name": "kvitok-owner", "key": "DATABASE_URL"}
    }


def test_archive_runs_as_the_owner_with_a_volume(everything: dict[str, Any]) -> None:
    pod = pods(everything)["CronJob demo-kvitok-archive"]
    (container,) = pod["containers"]
    env = {variable["name"]: variable for variable in container["env"]}
    mounts = {
        volumemount["name"]: volumemount["mountPath"] for volumemount in container["volumeMounts"]
    }
    volumes = {volume["name"]: volume for volume in pod["volumes"]}

    assert env["DATABASE_URL"]["valueFrom"]["secretKeyRef"]["name"] == "kvitok-owner"
    assert env["ARCHIVE_DIR"]["value"] == mounts["archive"] == "/archive"
    assert volumes["archive"]["persistentVolumeClaim"] == {"claimName": "kvitok-archive"}
    assert mounts.keys() == volumes.keys()


def test_every_container_is_confined_and_limited(everything: dict[str, Any]) -> None:
    for name, pod in pods(everything).items():
        assert pod["securityContext"]["runAsNonRoot"], name
        assert not pod["automountServiceAccountToken"], name
        for container in pod["containers"]:
            security = container["securityContext"]
            assert security["readOnlyRootFilesystem"], name
            assert security["capabilities"] == {"drop": ["ALL"]}, name
            assert not security["allowPrivilegeEscalation"], name
            assert "memory" in container["resources"]["limits"], name


@pytest.mark.parametrize("name", ["beat", "smpp", "smpp-kz"])
def test_single_deployments_are_replaced_not_doubled(everything: dict[str, Any], name: str) -> None:
    spec = everything[f"Deployment demo-kvitok-{name}"]["spec"]

    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})


def test_version_is_that_of_the_release() -> None:
    chart = (ROOT / "deploy/helm/kvitok/Chart.yaml").read_text("utf-8")
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    version = project.partition('version = "')[2].partition('"')[0]

    assert f'appVersion: "{version}"' in chart
