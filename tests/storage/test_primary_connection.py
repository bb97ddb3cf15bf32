"""The pool leaves a server that died or stopped being the primary, and notices its successor."""

import shutil
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import datetime
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from psycopg_pool import ConnectionPool, PoolTimeout

from config.local.server_account import account_for
from config.local.server_files import temporary_directory
from config.local.store_servers import Postgres
from storage import sessions
from tests.sql import execute

Pool = ConnectionPool[psycopg.Connection]
WRITE = "CREATE TABLE written (); DROP TABLE written"


def pool_of(**params: Any) -> Pool:
    """Returns a pool with the service's own options."""
    options = settings.DATABASES["default"]["OPTIONS"]["pool"]
    return ConnectionPool(kwargs=params | {"autocommit": True}, open=True, **options)


@pytest.fixture
def pool(db: None) -> Iterator[Pool]:
    with pool_of(**connection.get_connection_params()) as pool:
        yield pool


def everyone(pool: Pool, statement: str) -> None:
    """Run it in three sessions, which are idle in the pool afterwards."""
    sessions = [pool.getconn() for _ in range(3)]
    for session in sessions:
        session.execute(statement)
        pool.putconn(session)


def failures(pool: Pool, times: int) -> int:
    failed = 0
    for _ in range(times):
        session = pool.getconn()
        try:
            session.execute(WRITE)
        except psycopg.OperationalError:
            failed += 1
        pool.putconn(session)
    return failed


def test_one_write_fails_on_a_server_that_only_reads(pool: Pool) -> None:
    everyone(pool, "SET default_transaction_read_only = on")

    assert failures(pool, 5) == 1


def test_one_statement_fails_when_the_server_drops_its_sessions(pool: Pool) -> None:
    everyone(pool, "SELECT")
    execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
        "AND datname = current_database() AND state = 'idle' AND query = 'SELECT'"
    )

    assert failures(pool, 5) == 1


def test_session_of_a_transaction_is_not_used_again(pool: Pool) -> None:
    everyone(pool, "SET default_transaction_read_only = on")
    session = pool.getconn()

    with pytest.raises(psycopg.OperationalError), session.transaction():
        session.execute(WRITE)
    pool.putconn(session)

    assert failures(pool, 3) == 0


def test_session_stays_after_a_refused_statement(pool: Pool) -> None:
    session = pool.getconn()

    with suppress(psycopg.Error):
        session.execute("SELECT 1 / 0")
    pool.putconn(session)

    assert not session.closed


@pytest.mark.slow
def test_server_is_used_seconds_after_a_long_outage() -> None:
    """psycopg's pool would wait longer after each failure, up to minutes."""
    directory = temporary_directory(account_for())
    server = Postgres(directory / "postgres", durable=False, log=directory / "log")
    with closing(server):
        server.start()
        with pool_of(host=str(server.sockets), user="kvitok", dbname="kvitok") as pool:
            everyone(pool, "SELECT")
            server.kill()
            down_for(pool, 9.0)
            server.start()
            back_at = time.monotonic()

            while not answers(pool):
                assert time.monotonic() - back_at < 3.0
    shutil.rmtree(directory)


def down_for(pool: Pool, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        assert not answers(pool)
        time.sleep(0.2)


def answers(pool: Pool) -> bool:
    with suppress(psycopg.OperationalError, PoolTimeout), pool.connection(timeout=0.5) as session:
        session.execute("SELECT")
        return True
    return False


@pytest.fixture
def odd_database(transactional_db: None) -> Iterator[None]:
    """Its administrator likes other styles."""
    name = connection.ops.quote_name(connection.settings_dict["NAME"])
    chosen = {
        "DateStyle": "German",
        "default_transaction_isolation": "serializable",
        "standard_conforming_strings": "off",
    }
    with connection.cursor() as cursor:
        for setting, value in chosen.items():
            cursor.execute(f"ALTER DATABASE {name} SET {setting} = '{value}'")
    yield
    with connection.cursor() as cursor:
        for setting in chosen:
            cursor.execute(f"ALTER DATABASE {name} RESET {setting}")


@pytest.mark.usefixtures("odd_database")
def test_session_has_its_own_styles_whatever_the_database_sets() -> None:
    with closing(sessions.connect()) as session:
        row = session.execute(
            "SELECT now(), current_setting('default_transaction_isolation'), %s::bytea[]",
            [[b"\x00digest"]],
        ).fetchone()

    assert row is not None
    assert isinstance(row[0], datetime)
    assert row[1:] == ("read committed", [b"\x00digest"])
