"""The compose file: how containers are confined, limited, published and started."""

import os
import re
import shutil
import subprocess
import sys
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from django.db import connection
from django.test import Client
from pytest_django import Settings

from channels.deliver.heartbeats import HeartbeatWriter
from channels.models import Heartbeat
from config.environment.variables import ROOT
from processes.server.https import MACHINE_PATHS
from tests.sql import execute

DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yml").read_text("utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
ONCE = {"migrate", "archive"}  # they run and end
CADDY = shutil.which("caddy")


def test_image_is_pinned_healthy_and_not_root() -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8")

    assert re.search(r"^FROM python:3\.\d+\.\d+-slim-\w+$", text, re.MULTILINE)
    assert re.findall(r"^USER (.*)$", text, re.MULTILINE) == ["10001"]
    assert text.index("USER 10001") > text.rindex("RUN ")
    assert "/livez" in text.partition("HEALTHCHECK ")[2]


@pytest.mark.parametrize("name", SERVICES)
def test_service_is_limited_restarted_and_watched(name: str) -> None:
    service = SERVICES[name]

    assert service["restart"] == ("no" if name in ONCE else "always")
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory"}
    assert "max-size" in service["logging"]["options"]
    assert name == "web" or "healthcheck" in service  # its own is the image's
    if "build" not in service:
        assert re.search(r":\d+\.\d+", service["image"])


def test_only_the_proxy_is_published() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["proxy"]


def test_everything_of_ours_waits_for_the_migrations() -> None:
    ours = {name for name, service in SERVICES.items() if "build" in service} - {"migrate"}

    waiting = {
        name
        for name in ours
        if SERVICES[name]["depends_on"]
        == {"migrate": {"condition": "service_completed_successfully"}}
    }

    assert waiting == ours == {"web", "worker", "beat", "smpp", "metrics", "archive"}


def test_only_migrations_and_archive_run_as_table_owner() -> None:
    urls = {
        name: service["environment"]["DATABASE_URL"]
        for name, service in SERVICES.items()
        if "build" in service
    }

    owners = [name for name, url in urls.items() if url.startswith("postgresql://kvitok:")]

    assert set(owners) == ONCE


def variables_of(service: dict[str, Any]) -> dict[str, str]:
    """With those of the file, which has the passwords for compose itself as well."""
    stack = {f"{name}_PASSWORD": "secret" for name in ("POSTGRES", "POSTGRES_APP", "REDIS")}
    own: dict[str, str] = service.get("environment", {})
    return (stack if "env_file" in service else {}) | own


@pytest.mark.parametrize("name", sorted(SERVICES.keys() - ONCE - {"postgres"}))
def test_container_gets_no_password_of_the_owner(name: str) -> None:
    result = variables_of(SERVICES[name])

    assert result.get("POSTGRES_PASSWORD", "") == ""
    assert result.get("POSTGRES_APP_PASSWORD", "") == ""
    assert not any("${POSTGRES_PASSWORD" in str(value) for value in result.values())


def test_redis_asks_for_a_password_that_our_processes_have() -> None:
    redis = SERVICES["redis"]

    assert '--requirepass "${REDIS_PASSWORD:?}"' in redis["command"]
    assert "${REDIS_PASSWORD:?}" in redis["environment"].values()
    ours = [service for service in SERVICES.values() if "build" in service]
    assert all(variables_of(service)["REDIS_PASSWORD"] == "secret" for service in ours)


def test_leader_election_requires_password() -> None:
    patroni = yaml.safe_load((DEPLOY / "postgres/patroni.yml").read_text("utf-8"))

    assert patroni["restapi"]["authentication"]["username"]
    assert patroni["restapi"]["listen"] == patroni["restapi"]["connect_address"]
    assert patroni["etcd3"]["username"]
    assert patroni["etcd3"]["protocol"] == "https"


@pytest.mark.skipif(CADDY is None, reason="no caddy here")
def test_proxy_accepts_its_configuration() -> None:
    hosts = {"PUBLIC_HOST": "kvitok.example.com", "SHORT_HOST": "go.example.com"}
    done = subprocess.run(
        [str(CADDY), "validate", "--adapter", "caddyfile", "--config", DEPLOY / "Caddyfile"],
        env=os.environ | hosts,
        text=True,
        capture_output=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("file", ["Caddyfile", "nginx.conf"])
@pytest.mark.parametrize("path", MACHINE_PATHS)
def test_proxy_redirects_no_path_that_carries_keys(file: str, path: str) -> None:
    lines = (DEPLOY / file).read_text("utf-8").splitlines()
    refused = next(line for line in lines if "@keys path" in line or "return 403" in line)

    assert path.strip("/") in refused


def healthy(kind: str, **changes: str) -> bool:
    path = f"/{connection.settings_dict['NAME']}"
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path=path).geturl()
    done = subprocess.run(
        [sys.executable, DEPLOY / "heartbeat.py", kind],
        env=os.environ | {"DATABASE_URL": url} | changes,
        check=False,
    )
    return done.returncode == 0


@pytest.mark.django_db(transaction=True)
def test_container_is_healthy_while_its_own_process_writes_heartbeats() -> None:
    HeartbeatWriter("delivery").write({})
    HeartbeatWriter("beat", shared=True).write({})
    fresh = healthy("delivery"), healthy("beat")
    Heartbeat.objects.filter(kind="delivery").update(process="delivery elsewhere 7")
    elsewhere = healthy("delivery")
    execute("UPDATE channels_heartbeat SET at = at - interval '2 minutes'")
    silent = healthy("beat")

    assert fresh == (True, True)
    assert (elsewhere, silent) == (False, False)


def test_container_is_healthy_while_the_database_is_down() -> None:
    assert healthy("delivery", DATABASE_URL="postgresql://kvitok@127.0.0.1:1/none")


def test_probe_of_a_pod_names_any_host(client: Client, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["kvitok.example.com"]

    assert client.get("/livez", headers={"Host": "10.0.0.7:8000"}).status_code == 200
