"""Health checks with each store up and down."""

import json
import subprocess
import sys
from typing import Any

import pytest
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from pytest_django import Settings

from config.environment.variables import ROOT
from config.server import probe
from tests.config.test_settings import GOOD

ASK = """
import django; django.setup()
from django.test import Client
for path in ("/livez", "/readyz"):
    answer = Client().get(path)
    print(answer.status_code, answer.content.decode())
"""


def without_stores() -> list[tuple[int, dict[str, Any], str]]:
    """A process whose PostgreSQL and Redis are not there."""
    env = GOOD | {"DJANGO_SETTINGS_MODULE": "config.settings", "LOG_LEVEL": "CRITICAL"}
    env |= {"DATABASE_URL": "postgresql://kvitok:pa55word@127.0.0.1:1/none"}
    output = subprocess.check_output(
        [sys.executable, "-W", "ignore", "-c", ASK], cwd=ROOT, env=env, text=True
    )
    lines = [line.partition(" ") for line in output.splitlines()]
    return [(int(status), json.loads(body), body) for status, _, body in lines]


def test_live_but_not_ready_without_stores() -> None:
    (alive, _, _), (ready, body, text) = without_stores()

    assert (alive, ready) == (200, 503)
    assert body["status"] == "not ready"
    assert body["reasons"] == ["unavailable"]
    assert "pa55word" not in text
    assert "127.0.0.1" not in text


@pytest.mark.django_db
def test_ready_with_both(client: Client) -> None:
    answer = client.get("/readyz")

    assert answer.status_code == 200
    assert answer.json() == {"status": "ready", "checks": {"database": "ok", "redis": "ok"}}
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.django_db
@pytest.mark.usefixtures("no_redis")
def test_without_redis_it_serves_and_says_so(client: Client) -> None:
    answer = client.get("/readyz")

    assert answer.status_code == 200
    assert answer.json()["status"] == "degraded"
    assert answer.json()["checks"]["redis"].startswith("unavailable")


@pytest.mark.django_db
def test_not_ready_until_migrated(client: Client) -> None:
    MigrationRecorder.Migration.objects.filter(app="channels", name="0001_squashed").delete()

    answer = client.get("/readyz")

    assert answer.status_code == 503
    assert answer.json()["reasons"] == ["1 migrations are not applied"]


@pytest.mark.parametrize("length", [0, 8, -1])
def test_unsigned_probe_reveals_no_request_facts(client: Client, length: int) -> None:
    question = probe.sign()[:length]

    answer = client.get("/livez", headers={probe.HEADER: question})

    assert answer.json() == {"status": "ok"}


def test_probe_response_has_request_facts(client: Client, settings: Settings) -> None:
    settings.TRUSTED_PROXY_COUNT = 1
    headers = {probe.HEADER: probe.sign(), "X-Forwarded-For": "192.0.2.1, 192.0.2.2"}

    seen = client.get("/livez", headers=headers).json()["seen"]

    assert seen == {"client_ip": "192.0.2.2", "forwarded": 2, "secure": False}
