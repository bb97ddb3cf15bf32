"""What the doctor says of a real streaming replica."""

import time
from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection, connections
from pytest_django import Settings

from config.local.embedded import Servers
from config.storage import replica
from operator_admin.doctor import replicas
from tests.stack.programs import wait_until
from tests.streaming_replica import Standby, replica_in_settings, standby_of

pytestmark = [
    pytest.mark.django_db(transaction=True, databases=["default", replica.ALIAS]),
    pytest.mark.usefixtures("english"),
]


@pytest.fixture(scope="module")
def standby(servers: Servers) -> Iterator[Standby]:
    with standby_of(servers) as one:
        yield one


@pytest.fixture(scope="module", autouse=True)
def _replica_in_settings(standby: Standby, django_db_setup: None) -> Iterator[None]:
    with replica_in_settings(standby.url):
        yield


@pytest.fixture(autouse=True)
def _running(standby: Standby) -> Iterator[None]:
    if standby.process is None:
        standby.start()
    yield
    connections[replica.ALIAS].close_pool()  # type: ignore[attr-defined]


def at(server: Standby, statement: str) -> None:
    with psycopg.connect(
        host=str(server.sockets), user="kvitok", dbname="postgres", autocommit=True
    ) as session:
        session.execute(statement.encode())


def write() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_logical_emit_message(true, 'doctor', repeat('x', 2097152))")


@pytest.fixture
def paused(standby: Standby, monkeypatch: pytest.MonkeyPatch) -> Iterator[Standby]:
    monkeypatch.setattr(replicas, "PATIENCE", 0.3)
    at(standby, "SELECT pg_wal_replay_pause()")
    yield standby
    at(standby, "SELECT pg_wal_replay_resume()")


def test_replica_that_has_everything_passes() -> None:
    write()

    found = replicas.database_replica()

    assert (found.ok, found.detail) == (True, "it has what the primary has")


def test_replica_that_replays_nothing_fails_once_it_is_far_behind(
    paused: Standby, settings: Settings
) -> None:
    write()
    settings.DATABASE_REPLICA_MAX_LAG = 60
    near = replicas.database_replica()
    time.sleep(1.1)
    settings.DATABASE_REPLICA_MAX_LAG = 1
    far = replicas.database_replica()

    assert (near.ok, near.cure) == (True, "")
    assert far.detail.startswith("its replay is paused, 2.")
    assert "pg_wal_replay_resume" in far.cure


def test_replica_whose_primary_sends_nothing_fails(
    standby: Standby, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicas, "PATIENCE", 0.3)
    settings.DATABASE_REPLICA_MAX_LAG = 1
    wait_until(lambda: "has what" in replicas.database_replica().detail)
    at(standby, "ALTER SYSTEM SET primary_conninfo = 'host=/nowhere'")
    at(standby, "SELECT pg_reload_conf()")
    try:
        write()
        wait_until(lambda: "receives nothing" in replicas.database_replica().detail)
        time.sleep(1.1)
        found = replicas.database_replica()
    finally:
        at(standby, "ALTER SYSTEM RESET primary_conninfo")
        at(standby, "SELECT pg_reload_conf()")

    assert not found.ok
    assert "primary_conninfo" in found.cure


def test_replica_that_does_not_answer_fails(standby: Standby) -> None:
    standby.kill()

    found = replicas.database_replica()

    assert (found.ok, found.detail) == (False, "OperationalError")
    assert "DATABASE_REPLICA_URL" in found.cure


def test_primary_in_place_of_the_replica_fails(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert servers.postgres is not None
    primary = str(servers.postgres.sockets)
    monkeypatch.setitem(connections[replica.ALIAS].settings_dict, "HOST", primary)

    found = replicas.database_replica()

    assert (found.ok, found.detail) == (False, "it is no replica")


def test_replica_of_another_database_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connections[replica.ALIAS].settings_dict, "NAME", "postgres")

    found = replicas.database_replica()

    assert (found.ok, found.detail) == (False, "it is a replica of another database")
