"""Edges of the chart: which variables and secrets they get, and that they start with those."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from config.environment.variables import KEYS_OF_THE_SERVICE, ROOT
from tests.deploy.charts import (
    ADDRESSES,
    EDGE,
    EDGE_ALONE,
    LEAST,
    PYTHON,
    by_name,
    pods,
    render,
)
from tests.redis_servers import RedisServer
from tests.stack.programs import wait_until

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="make deploy-tools has not run")
SECRET = {
    "EDGE_TOKEN": "ams:mF8zWq2Lx9Rt4Yp7Kc1Vb6Nj3Hs5Dg0T",
    "REDIS_URL": "redis://edge:password@127.0.0.1:1/0",
    "EDGE_REPLICA_URL": "redis://127.0.0.1:1/0",
}
REPLICATION_USER = "replica on >x resetchannels -@all +psync +replconf +ping"  # as documented
EXAMPLES = (ROOT / ".env.example").read_text("utf-8").splitlines()


def every_variable() -> dict[str, str]:
    """All that the service can be given, addresses that an edge would start with among it."""
    names = [line.partition("=")[0] for line in EXAMPLES if "=" in line and line[0] != "#"]
    return dict.fromkeys(names, "") | ADDRESSES | {"ENVIRONMENT": "production"}


def containers(values: dict[str, Any]) -> dict[str, Any]:
    pod = pods(by_name(values))["Deployment demo-kvitok-edge"]
    return {one["name"]: one for one in pod["containers"]}


def secrets_of(container: dict[str, Any]) -> dict[str, str]:
    """The secret from which each of its variables comes."""
    sources = {one["name"]: one.get("valueFrom") for one in container["env"]}
    return {name: one["secretKeyRef"]["name"] for name, one in sources.items() if one}


def environ_of(container: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one.get("value", SECRET.get(one["name"])) for one in container["env"]}


def test_edges_alone_need_nothing_of_the_service() -> None:
    assert sorted(by_name(EDGE_ALONE)) == [
        "Deployment demo-kvitok-edge",
        "PodDisruptionBudget demo-kvitok-edge",
        "Service demo-kvitok-edge",
    ]


def test_containers_of_an_edge_get_no_key_of_the_service() -> None:
    values = LEAST | {
        "environment": every_variable(),
        "metrics": {"enabled": True},
        "edge": EDGE,
    }
    found = containers(values)

    assert found.keys() == {"edge", "replica", "metrics"}
    for container in found.values():
        assert "envFrom" not in container
        assert environ_of({"env": container.get("env", [])}).keys().isdisjoint(KEYS_OF_THE_SERVICE)
    for name in ("edge", "metrics"):
        expected = {"EDGE_TOKEN": "kvitok-edge", "REDIS_URL": "kvitok-edge"}
        assert secrets_of(found[name]) == expected


def test_password_of_the_replica_is_seen_by_it_alone() -> None:
    pod = pods(by_name(LEAST | {"environment": ADDRESSES, "edge": EDGE}))
    edge = pod["Deployment demo-kvitok-edge"]

    (volume,) = [one["name"] for one in edge["volumes"] if "secret" in one]
    mounting = {
        container["name"]
        for container in edge["containers"]
        if volume in {one["name"] for one in container["volumeMounts"]}
    }

    assert mounting == {"replica"}


@pytest.mark.parametrize("replica", [EDGE["replica"], {"enabled": False}])
def test_edge_starts_with_the_variables_that_it_gets(replica: dict[str, Any]) -> None:
    values = EDGE_ALONE | {"environment": every_variable(), "edge": EDGE | {"replica": replica}}
    code = (
        "import django, json; django.setup(); from config.edge import settings as s;"
        "print(json.dumps([s.SHORT_URL, s.TRUSTED_PROXY_COUNT, s.EDGE_REPLICA_URL]))"
    )

    started = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environ_of(containers(values)["edge"])
        | {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "config.edge.settings"},
        text=True,
        capture_output=True,
        check=False,
    )

    url = "redis://127.0.0.1:6379/0" if replica.get("existingSecret") else "redis://127.0.0.1:1/0"
    assert (started.returncode, started.stderr) == (0, "")
    assert json.loads(started.stdout) == ["https://go.test", 1, url]


def test_own_variable_of_an_edge_stands_above_the_shared_one() -> None:
    own = {"LINK_MISS_LIMIT": "60", "TRUSTED_PROXY_COUNT": "2"}
    shared = ADDRESSES | {"LINK_MISS_LIMIT": "30", "TRUSTED_PROXY_COUNT": "1"}
    values = EDGE_ALONE | {"environment": shared, "edge": EDGE | {"environment": own}}

    environ = environ_of(containers(values)["edge"])

    assert own.items() <= environ.items()


def test_edge_leaves_its_service_by_readyz() -> None:
    edge = containers(EDGE_ALONE)["edge"]
    paths = {name: probe["httpGet"]["path"] for name, probe in edge.items() if "Probe" in name}

    assert paths == {
        "startupProbe": "/livez",
        "livenessProbe": "/livez",
        "readinessProbe": "/readyz",
    }


def test_ingress_leads_short_hosts_to_the_edges() -> None:
    values = EDGE_ALONE | {"edge": EDGE | {"ingress": {"enabled": True, "hosts": ["go.test"]}}}
    found = by_name(values)
    (rule,) = found["Ingress demo-kvitok-edge"]["spec"]["rules"]
    (path,) = rule["http"]["paths"]

    service = found["Service demo-kvitok-edge"]
    pod = found["Deployment demo-kvitok-edge"]["spec"]["template"]["metadata"]["labels"]

    assert (rule["host"], path["backend"]["service"]["name"]) == ("go.test", "demo-kvitok-edge")
    assert service["spec"]["selector"].items() <= pod.items()


def test_replica_follows_its_master(tmp_path: Path) -> None:
    container = containers(EDGE_ALONE)["replica"]
    master = RedisServer(tmp_path / "master", ["--user", *REPLICATION_USER.split()])
    options = container["command"][container["command"].index("/etc/redis/redis.conf") + 1 :]
    replica = RedisServer(tmp_path / "replica")
    replica.options = [
        {"6379": str(replica.port), "/data": str(tmp_path / "replica")}.get(one, one)
        for one in options
    ]
    (tmp_path / "replica").mkdir()
    conf = f"replicaof 127.0.0.1 {master.port}\nmasteruser replica\nmasterauth x\n"
    (tmp_path / "replica/redis.conf").write_text(f"{conf}save 60 1\nbind 0.0.0.0\n", "utf-8")
    try:
        master.start()
        master.client.set("link", "row")
        replica.start()

        wait_until(lambda: replica.client.get("link") == b"row", instead=lambda: "no row came")

        for name, value in {"bind": "127.0.0.1", "save": ""}.items():
            assert replica.client.config_get(name) == {name: value}
    finally:
        replica.kill()
        master.kill()


def edge(**changes: Any) -> dict[str, Any]:
    return EDGE_ALONE | {"edge": EDGE | changes}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (edge(existingSecret=""), "edge.existingSecret names the secret"),
        (LEAST | edge(existingSecret="kvitok"), "with no key of the service"),
        (LEAST | edge(existingSecret="kvitok-owner"), "with no key of the service"),
        (edge(replica={}), "edge.replica.existingSecret names the secret"),
        (edge(ingress={"enabled": True}), "edge.ingress.hosts names the host"),
        (edge() | {"environment": {"PUBLIC_URL": "https://k.test"}}, "edges need SHORT_URL"),
        (
            LEAST
            | {
                "environment": ADDRESSES,
                "ingress": {"enabled": True, "hosts": ["a.test", "go.test"]},
            }
            | {"edge": EDGE | {"ingress": {"enabled": True, "hosts": ["go.test"]}}},
            "go.test is one of ingress.hosts",
        ),
        (edge(replicas=0), "/edge/replicas"),
        (LEAST | {"origin": {"enabled": "no"}}, "/origin/enabled"),
        (
            edge(environment=dict.fromkeys(KEYS_OF_THE_SERVICE, "x")),
            f"no edge may hold {', '.join(sorted(KEYS_OF_THE_SERVICE))}",
        ),
    ],
)
def test_values_that_cannot_work_are_refused(values: dict[str, Any], words: str) -> None:
    assert words in render(values)["refused"]
