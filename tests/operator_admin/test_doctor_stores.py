"""The `doctor` checks PostgreSQL and Redis."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import override_settings
from django.utils import timezone
from pytest_django import Settings

from operator_admin.doctor import processes, stores
from operator_admin.doctor.finding import Finding
from storage.redis_client import redis_client
from tests.conftest import reset_redis_state
from tests.operator_admin.archive.databases import copied
from tests.redis_servers import RedisServer
from tests.sql import execute

pytestmark = pytest.mark.usefixtures("english")


def test_closed_database_fails_the_check(db: None) -> None:
    execute("SET LOCAL default_transaction_read_only = on")

    assert "not verified" in stores.database().detail


def test_time_zone_that_the_database_lacks_fails_the_check(db: None, settings: Settings) -> None:
    settings.TIME_ZONE = "Asia/Bombay"

    assert stores.database().detail == "it has no time zone Asia/Bombay"


@pytest.mark.parametrize(
    ("encoding", "detail"), [("SQL_ASCII", "SQL_ASCII, not UTF-8"), ("UTF8", "ж and Ж")]
)
def test_database_that_cannot_hold_or_search_texts_fails_the_check(
    transactional_db: None, encoding: str, detail: str
) -> None:
    assert stores.database_texts().ok
    of_shell = f"template0 ENCODING '{encoding}' LOCALE 'C' LOCALE_PROVIDER libc"  # of LANG=C

    with copied(of_shell, "kvitok_texts"):
        finding = stores.database_texts()

    assert detail in finding.detail
    assert "docs/operations/set-up.md" in finding.remedy


def test_indexes_sorted_by_another_library_fail_the_check(db: None) -> None:
    execute("UPDATE pg_database SET datcollversion = '2.36' WHERE datname = current_database()")

    finding = stores.database_texts()

    assert (finding.ok, "version 2.36" in finding.detail) == (False, True)
    assert "REFRESH COLLATION VERSION" in finding.remedy


def test_pooler_without_time_limits_fails_the_check(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.settings_dict, "DIRECT", {"conninfo": "postgresql:///kvitok"})
    execute("SET LOCAL lock_timeout = 0")

    assert stores.pooler().detail == "no lock_timeout"


def test_no_pooler_passes_the_check(db: None) -> None:
    assert stores.pooler().ok


@pytest.mark.django_db
def test_old_postgres_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stores.database().ok
    monkeypatch.setattr(stores, "MIN_POSTGRES", 99)

    assert "Upgrade to PostgreSQL 99" in stores.database().remedy


@pytest.mark.django_db
def test_missing_migration_is_named() -> None:
    assert stores.migrations().ok
    MigrationRecorder.Migration.objects.filter(app="otp", name="0001_initial").delete()

    assert stores.migrations().detail == "otp.0001_initial"


@pytest.mark.django_db
def test_clock_that_differs_fails_the_check() -> None:
    assert stores.clock().ok

    with time_machine.travel(timezone.now() + timedelta(seconds=30)):
        assert stores.clock().detail == "the database's clock differs by -30.0 s"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[None]:
    server = RedisServer(tmp_path / "redis", ["--cluster-enabled", "yes"])
    server.start()
    with override_settings(REDIS_URL=server.url):
        reset_redis_state()
        yield
    server.kill()
    reset_redis_state()


@pytest.mark.usefixtures("cluster")
def test_redis_in_cluster_mode_fails_the_check() -> None:
    assert stores.redis().detail == "in cluster mode"


@pytest.fixture
def redis_settings() -> Iterator[None]:
    client = redis_client()
    names = ("maxmemory-policy", "maxmemory", "appendonly")
    before: Any = [client.config_get(name) for name in names]
    yield
    for values in before:
        for name, value in values.items():
            client.config_set(name, value)


@pytest.mark.usefixtures("redis_settings")
def test_redis_that_evicts_fails_the_check() -> None:
    assert stores.redis().ok
    redis_client().config_set("maxmemory-policy", "noeviction")
    assert stores.redis_memory().ok
    redis_client().config_set("maxmemory", 10**9)
    redis_client().config_set("maxmemory-policy", "allkeys-lru")

    assert "noeviction" in stores.redis_memory().remedy


@pytest.mark.usefixtures("redis_settings")
def test_redis_that_is_nearly_full_fails_the_check() -> None:
    redis_client().config_set("maxmemory-policy", "noeviction")
    used = int(redis_client().info("memory")["used_memory"])
    redis_client().config_set("maxmemory", 2 * used)
    assert stores.redis_memory().ok
    redis_client().config_set("maxmemory", int(used * 1.08))

    assert "Raise `maxmemory`" in stores.redis_memory().remedy


@pytest.mark.usefixtures("redis_settings")
def test_redis_that_forgets_fails_the_check_in_production(settings: Settings) -> None:
    redis_client().config_set("appendonly", "no")
    assert stores.redis_persistence().ok
    settings.ENVIRONMENT = "production"
    assert "appendonly yes" in stores.redis_persistence().remedy
    redis_client().config_set("appendonly", "yes")

    assert stores.redis_persistence().ok


@pytest.mark.usefixtures("no_redis")
def test_unavailable_redis_fails_the_check() -> None:
    result = [stores.redis(), stores.redis_memory(), stores.redis_persistence()]

    assert [check.ok for check in result] == [False] * 3


def test_broker_brings_a_message_back_and_leaves_no_queue() -> None:
    assert processes.broker() == Finding("broker", True, "a message went out and came back")
    assert not list(redis_client().scan_iter("*doctor*"))


def test_unavailable_broker_fails_the_check(settings: Settings) -> None:
    settings.BROKER_URL = "redis://127.0.0.1:1"

    assert "CELERY_BROKER_URL" in processes.broker().remedy
