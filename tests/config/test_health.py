"""Probes of health: when a process is ready, and how much a probe costs."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from pytest_django import Settings

from channels.models import Heartbeat
from config import health
from config.environment.variables import ROOT
from config.local.store_servers import Postgres
from processes.background import PeriodicThread
from processes.server import probe
from tests.api.races import at_once
from tests.config.small_disk import small_disk
from tests.config.starting import GOOD

ASK = """
import django; django.setup()
from django.test import Client
for path in ("/livez", "/readyz"):
    answer = Client().get(path)
    print(answer.status_code, answer.content.decode())
"""


def without_stores() -> list[tuple[int, dict[str, Any], str]]:
    """Returns the answers of a process whose PostgreSQL and Redis are unavailable."""
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
    assert body["reasons"] == ["database: no answer within 2 s"]
    assert "pa55word" not in text
    assert "127.0.0.1" not in text


@pytest.mark.django_db(transaction=True)
def test_ready_while_database_and_redis_answer(client: Client) -> None:
    response = client.get("/readyz")

    assert response.status_code == 200
    checks = {"database": "ok", "writes": "ok", "redis": "ok"}
    assert response.json() == {"status": "ready", "checks": checks}
    assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("no_redis")
def test_without_redis_it_serves_and_says_so(client: Client) -> None:
    response = client.get("/readyz")

    assert response.status_code == 200
    assert response.json()["status"] == "degraded"
    assert response.json()["checks"]["redis"].startswith("unavailable")


@pytest.mark.django_db(transaction=True)
def test_not_ready_until_migrated(client: Client) -> None:
    applied = MigrationRecorder.Migration.objects.filter(app="channels", name="0001_initial")
    (row,) = applied
    applied.delete()

    response = client.get("/readyz")

    row.save()
    assert response.status_code == 503
    assert response.json()["reasons"] == ["database: 1 migrations are not applied"]


@pytest.mark.django_db(transaction=True)
def test_not_ready_with_a_time_zone_that_the_database_lacks(
    client: Client, settings: Settings
) -> None:
    settings.TIME_ZONE = "Asia/Bombay"

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json()["reasons"] == [
        "writes: failed: the database has no time zone Asia/Bombay"
    ]


@pytest.mark.django_db(transaction=True)
def test_probes_of_a_few_seconds_share_one_write(client: Client) -> None:
    client.get("/readyz")
    (first,) = Heartbeat.objects.values_list("at", flat=True)
    statuses = at_once([lambda: Client().get("/readyz").status_code] * 8)
    (same,) = Heartbeat.objects.values_list("at", flat=True)
    health.database.forget()
    client.get("/readyz")
    (later,) = Heartbeat.objects.values_list("at", flat=True)

    assert statuses == [200] * 8
    assert first == same < later


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system of its own")
@pytest.mark.slow
def test_not_ready_while_the_disk_of_the_database_is_full() -> None:
    """A row that is updated in its page would still find room there."""
    with small_disk("160m") as disk, postgres_on(disk) as url:
        before = ready(url)
        begin_wal_segment(url)
        with kept_full(disk):
            full = ready(url)

    assert before == (200, [])
    assert full == (503, ["writes: refused: the database's disk is full"])


@contextmanager
def postgres_on(disk: Path) -> Iterator[str]:
    server = Postgres(disk / "postgres", durable=True, log=disk.parent / f"{disk.name}.log")
    server.start()
    try:
        environ = os.environ | {"DATABASE_URL": server.url}
        command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(command, cwd=ROOT, env=environ, check=True)
        yield server.url
    finally:
        server.close()
        server.log.unlink()


def begin_wal_segment(url: str) -> None:
    """Room for what is logged on the full disk: PostgreSQL ends where it cannot add a segment."""
    with psycopg.connect(url, autocommit=True) as session:
        session.execute("SELECT pg_switch_wal()")
        session.execute("SELECT pg_logical_emit_message(true, 'test', '')")


@contextmanager
def kept_full(disk: Path) -> Iterator[None]:
    """Takes what PostgreSQL gives back, too."""
    filler = PeriodicThread("filler", lambda: fill(disk / "rest"), 0.01)
    fill(disk / "rest")
    filler.start()
    yield
    filler.stop()


def fill(file: Path) -> None:
    with file.open("ab", buffering=0) as rest, suppress(OSError):
        while True:
            rest.write(bytes(4096))


def ready(url: str) -> tuple[int, list[str]]:
    environ = os.environ | {"DATABASE_URL": url, "LOG_LEVEL": "CRITICAL"}
    environ |= {"DJANGO_SETTINGS_MODULE": "config.settings"}
    output = subprocess.check_output(
        [sys.executable, "-W", "ignore", "-c", ASK], cwd=ROOT, env=environ, text=True
    )
    status, _, body = output.splitlines()[-1].partition(" ")
    return int(status), json.loads(body).get("reasons", [])


@pytest.mark.parametrize("length", [0, 8, -1])
def test_unsigned_probe_reveals_no_request_facts(client: Client, length: int) -> None:
    question = probe.sign()[:length]

    response = client.get("/livez", headers={probe.HEADER: question})

    assert response.json() == {"status": "ok"}


def test_probe_response_has_request_facts(client: Client, settings: Settings) -> None:
    settings.TRUSTED_PROXY_COUNT = 1
    headers = {probe.HEADER: probe.sign(), "X-Forwarded-For": "192.0.2.1, 192.0.2.2"}

    seen = client.get("/livez", headers=headers).json()["seen"]

    assert seen == {"client_ip": "192.0.2.2", "forwarded": 2, "secure": False}
