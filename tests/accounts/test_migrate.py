"""The `migrate` command: how it waits for locks, and how it builds indexes."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from io import StringIO

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import override_settings

from tests.api.blocking import on_own_connection
from tests.sql import execute
from tests.stack.programs import BUSY, wait_until

LOCK_TIMEOUT = 0.5
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


@pytest.fixture(autouse=True)
def _scratch_table(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An app without models of its own gets the migrations of a table; its first one is applied."""
    two_fields = import_module("tests.accounts.scratch.migrations.0005_two_fields")
    monkeypatch.setattr(two_fields, "is_checked", True)
    with override_settings(MIGRATION_MODULES={"api_docs": "tests.accounts.scratch.migrations"}):
        migrate("0001")
        yield
        migrate("zero")


def migrate(name: str, **options: object) -> str:
    output = StringIO()
    call_command("migrate", "api_docs", name, stdout=output, **options)
    return output.getvalue()


def test_migration_releases_its_lock_before_writers_wait_long(threads: ThreadPoolExecutor) -> None:
    with long_transaction(), writing(threads) as waits:
        migrating = start(threads, "0002")
        wait_until(lambda: max(waits, default=0) > LOCK_TIMEOUT / 2, 60)  # they queue behind it
        time.sleep(2 * LOCK_TIMEOUT)
        assert not migrating.done()

    output = migrating.result(30)
    assert max(waits) < LOCK_TIMEOUT + BUSY
    assert "size" in columns()
    assert "on scratch" in output
    assert "retrying in" in output


def test_migration_that_never_gets_its_lock_ends_with_an_error() -> None:
    with long_transaction(), pytest.raises(CommandError, match=r"api_docs\.0002_column"):
        migrate("0002", lock_timeout=LOCK_TIMEOUT, give_up_after=1)


def test_index_is_built_without_blocking_writers(threads: ThreadPoolExecutor) -> None:
    migrate("0002")

    with long_transaction(), writing(threads):
        migrating = start(threads, "0003")
        wait_until(lambda: "scratch_note" in indexes())
        for _look in range(40):
            assert not blocked("INSERT INTO scratch")
            time.sleep(0.02)
        assert not migrating.done()  # it waits for the transaction, and nobody for it

    output = migrating.result(30)
    assert indexes()["scratch_note"]
    assert "index" in output


def test_invalid_index_of_a_failed_try_is_rebuilt() -> None:
    migrate("0002")
    execute("INSERT INTO scratch (note) VALUES ('twice'), ('twice')")
    with pytest.raises(psycopg.errors.UniqueViolation), plain_connection() as other:
        other.execute("CREATE UNIQUE INDEX CONCURRENTLY scratch_note ON scratch (note)")
    assert indexes()["scratch_note"] is False

    migrate("0003")

    assert indexes()["scratch_note"] is True
    execute("INSERT INTO scratch (note) VALUES ('twice')")  # and it is no unique one


def test_partitioned_index_is_built_on_every_partition(
    threads: ThreadPoolExecutor,
) -> None:
    migrate("0002")
    execute(
        "ALTER TABLE scratch ALTER id DROP IDENTITY, ALTER size DROP NOT NULL;"
        "ALTER TABLE scratch RENAME TO scratch_old;"
        "CREATE TABLE scratch (id bigint, note text, size int) PARTITION BY RANGE (id);"
        "ALTER TABLE scratch ATTACH PARTITION scratch_old FOR VALUES FROM (0) TO (1000);"
        "CREATE TABLE scratch_new PARTITION OF scratch FOR VALUES FROM (1000) TO (2000)"
    )

    with long_transaction("scratch_old"), writing(threads) as waits:
        migrating = start(threads, "0003")
        wait_until(lambda: any(name.startswith("scratch_old_") for name in indexes()))
        time.sleep(LOCK_TIMEOUT)
    migrating.result(30)

    assert max(waits) < LOCK_TIMEOUT + 0.4
    assert indexes()["scratch_note"] is True
    assert sum(name.endswith("scratch_note") for name in indexes()) == 3
    execute("DROP TABLE scratch_new")


def test_migration_yields_in_a_deadlock(threads: ThreadPoolExecutor) -> None:
    migrate("0003")
    execute("CREATE TABLE scratch_other (id int)")

    with plain_connection() as other, other.transaction():
        other.execute("DELETE FROM scratch_other")
        migrating = start(threads, "0004")
        wait_until(lambda: "scratch" in altered())
        other.execute("INSERT INTO scratch (note) VALUES ('waits for the migration')")

    output = migrating.result(30)
    execute("DROP TABLE scratch_other")
    assert "retrying in" in output


def test_rendering_migration_states_takes_no_locks() -> None:
    migrate("0005")  # its second operation looks for the lock of its first

    assert {"first", "second"} <= set(columns())


def test_parallel_migrations_run_in_turn(threads: ThreadPoolExecutor) -> None:
    with long_transaction():
        both = [start(threads, "0003"), start(threads, "0003")]
        time.sleep(4 * LOCK_TIMEOUT)

    outputs = [future.result(30) for future in both]
    assert "No migrations to apply" in "".join(outputs)
    assert "another migrate" in "".join(outputs)


def start(threads: ThreadPoolExecutor, name: str) -> "Future[str]":
    return threads.submit(
        on_own_connection, lambda: migrate(name, lock_timeout=LOCK_TIMEOUT, give_up_after=60)
    )


@contextmanager
def plain_connection() -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A connection without Django's timeouts."""
    settings = connection.settings_dict
    host = settings["HOST"] or connection.get_connection_params().get("host")
    with psycopg.connect(
        dbname=settings["NAME"], user=settings["USER"], host=host, autocommit=True
    ) as other:
        yield other


@contextmanager
def long_transaction(table: str = "scratch") -> Iterator[int]:
    """Somebody else's transaction that wrote the table; its process in the database."""
    with plain_connection() as other, other.transaction():
        other.execute(f"DELETE FROM {table} WHERE false")  # noqa: S608 - locked all the same
        yield other.info.backend_pid


@contextmanager
def writing(threads: ThreadPoolExecutor) -> Iterator[list[float]]:
    """Meanwhile inserts rows one after another; yields the duration of each."""
    waits: list[float] = []
    over = threading.Event()

    def write() -> None:
        with plain_connection() as other:
            for number in range(1, 1000):
                if over.is_set():
                    return
                began = time.monotonic()
                other.execute("INSERT INTO scratch (id, note) VALUES (%s, 'x')", [number])
                waits.append(time.monotonic() - began)
                time.sleep(0.01)

    running = threads.submit(write)
    wait_until(lambda: bool(waits) or running.done())
    try:
        yield waits
    finally:
        over.set()
        running.result(30)


def blocked(statement: str) -> bool:
    """Whether a statement with this beginning waits for a lock."""
    rows = execute(
        "SELECT EXISTS (SELECT FROM pg_stat_activity"
        " WHERE starts_with(query, %s) AND cardinality(pg_blocking_pids(pid)) > 0)",
        [statement],
    )
    return bool(rows[0][0])


def altered() -> list[str]:
    """The tables that a session has locked exclusively."""
    rows = execute(
        "SELECT relation::regclass::text FROM pg_locks"
        " WHERE mode = 'AccessExclusiveLock' AND granted AND relation IS NOT NULL"
    )
    return [name for (name,) in rows]


def columns() -> list[str]:
    with connection.cursor() as cursor:
        return [
            column.name
            for column in connection.introspection.get_table_description(cursor, "scratch")
        ]


def indexes() -> dict[str, bool]:
    """Indexes of the scratch tables by name, and whether each is valid."""
    rows = execute(
        "SELECT class.relname, indisvalid FROM pg_index"
        " JOIN pg_class class ON class.oid = indexrelid JOIN pg_class scratch ON"
        " scratch.oid = indrelid WHERE scratch.relname LIKE 'scratch%'"
    )
    return dict(rows)


def timeouts() -> list[str]:
    rows = execute(
        "SELECT setting FROM pg_settings WHERE name IN ('lock_timeout', 'statement_timeout')"
        " ORDER BY name"
    )
    return [value for (value,) in rows]
