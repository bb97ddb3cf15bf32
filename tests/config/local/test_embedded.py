"""PostgreSQL and Redis of the local start keep their data and leave nothing behind."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import psycopg
import pytest
import redis

from config.local.checkout import CHECKOUT
from config.local.embedded import Servers, temporary
from config.local.processes import command_line
from config.local.store_servers import Postgres, Redis

WRAPPER = [sys.executable, "-m", "config.local.embedded", "--"]
WITHOUT_POSTGRES = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(CHECKOUT),
    "DATABASE_URL": "postgresql:///own",
}


@pytest.fixture(scope="module")
def stores() -> Iterator[Servers]:
    with temporary(durable=True, environ={}) as result:
        yield result


@pytest.fixture
def postgres(stores: Servers) -> Postgres:
    assert stores.postgres is not None
    return stores.postgres


@pytest.fixture
def cache(stores: Servers) -> Redis:
    assert stores.redis is not None
    return stores.redis


def query(postgres: Postgres, statement: str, *values: object) -> list[tuple[object, ...]]:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode(), values)
        return cursor.fetchall() if cursor.description else []


def client(cache: Redis) -> "redis.Redis":
    return redis.Redis.from_url(cache.url)


def alive(*pids: int) -> bool:
    return any(command_line(pid) for pid in pids)


def wait_until_gone(*pids: int) -> None:
    deadline = time.monotonic() + 10
    while alive(*pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(*pids)


def run(
    command: Sequence[str], *, env: Mapping[str, str], cwd: Path = CHECKOUT
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=env, cwd=cwd, check=False, capture_output=True, text=True, timeout=60
    )


def test_postgres_logs_no_values(postgres: Postgres) -> None:
    query(postgres, "CREATE TABLE people (phone text PRIMARY KEY)")
    query(postgres, "INSERT INTO people VALUES (%s)", "+79990001122")

    with pytest.raises(psycopg.errors.UniqueViolation):
        query(postgres, "INSERT INTO people VALUES (%s)", "+79990001122")
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        query(postgres, "SELECT 'to +79990001122'::int")

    assert "79990001122" not in postgres.log.read_text()


def test_postgres_keeps_what_was_committed_before_a_kill(postgres: Postgres) -> None:
    query(postgres, "CREATE TABLE kept AS SELECT 7 AS number")
    before = postgres.pid

    postgres.kill()
    assert not alive(before)
    postgres.start()

    assert query(postgres, "SELECT number FROM kept") == [(7,)]
    assert postgres.pid != before


def test_redis_keeps_its_data_over_a_kill(cache: Redis) -> None:
    client(cache).set("kept", "yes")

    cache.kill()
    cache.start()

    assert client(cache).get("kept") == b"yes"
    assert client(cache).config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


@pytest.mark.parametrize("other", ["DATABASE_URL", "REDIS_URL"])
def test_server_left_by_a_killed_run_is_stopped_first(other: str) -> None:
    with temporary(environ={other: "named"}) as result:
        (server,) = result
        server.stop()
        user = None if server.account is None else server.account.uid
        leftover = subprocess.Popen(server.command(), user=user, cwd="/", stderr=subprocess.DEVNULL)
        server.process = leftover
        while not server.is_ready():
            time.sleep(0.02)

        server.start()

        assert leftover.wait(5) == 0
        assert server.pid != leftover.pid
        assert server.is_ready()


def test_wrapper_gives_the_addresses_and_returns_the_exit_code() -> None:
    program = "import os, sys; print(os.environ['REDIS_URL']); sys.exit(7)"

    done = run([*WRAPPER, sys.executable, "-c", program], env=WITHOUT_POSTGRES)

    assert done.stdout.startswith("unix:///")
    assert done.returncode == 7


def test_killed_wrapper_leaves_no_process_and_no_files() -> None:
    environ = os.environ | {"DATABASE_URL": "", "REDIS_URL": "", "PYTHONPATH": str(CHECKOUT)}
    program = "import os, time; print(os.environ['DATABASE_URL'], os.getpid()); time.sleep(60)"
    command = [*WRAPPER, sys.executable, "-u", "-c", program]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as wrapper:
        assert wrapper.stdout is not None
        url, pid = wrapper.stdout.readline().split()
        directory = Path(url.partition("host=")[2])
        postmaster = int((directory / "data/postmaster.pid").read_text().split()[0])
        wrapper.kill()

    wait_until_gone(int(pid), postmaster)
    with temporary(environ={"DATABASE_URL": "postgresql:///own"}):
        assert not directory.exists()
