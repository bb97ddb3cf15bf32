"""`/readyz` while PostgreSQL answers and nothing can be written."""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest
import requests
from django.db import connection

from config.health import FRESH_SECONDS, NO_ANSWER, TIMEOUT
from tests.sql import execute
from tests.stack.paused_process import paused
from tests.stack.programs import BUSY, children, wait_until
from tests.stack.stack import Stack, drop_connections


@pytest.fixture(autouse=True)
def recovery(stack: Stack) -> Iterator[None]:
    yield
    stack.recover()
    stack.new_errors()


def ask(stack: Stack) -> requests.Response:
    return requests.get(f"{stack.url}/readyz", timeout=30)


@contextmanager
def in_recovery(stack: Stack) -> Iterator[None]:
    """PostgreSQL as a standby without a primary."""
    signal = stack.postgres.data / "standby.signal"
    stack.postgres.stop()
    signal.touch()
    if stack.postgres.account:
        os.chown(signal, stack.postgres.account.uid, stack.postgres.account.gid)
    try:
        stack.postgres.start()
        yield
    finally:
        signal.unlink()
        stack.postgres.restart()
        drop_connections()


@contextmanager
def read_only(stack: Stack) -> Iterator[None]:
    """A database that new sessions may only read."""
    name = connection.settings_dict["NAME"]
    execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    stack.postgres.restart()
    drop_connections()
    try:
        yield
    finally:
        execute("SET default_transaction_read_only = off")
        execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        stack.postgres.restart()
        drop_connections()


def test_database_in_recovery_is_not_ready_until_it_is_promoted(stack: Stack) -> None:
    with in_recovery(stack):
        wait_until(lambda: ask(stack).status_code == 503)
        response = ask(stack)
        alive = requests.get(f"{stack.url}/livez", timeout=30)
    wait_until(lambda: ask(stack).status_code == 200)

    assert response.json()["checks"]["database"] in {NO_ANSWER, "unavailable"}
    assert alive.status_code == 200


def test_read_only_database_is_not_ready(stack: Stack) -> None:
    with read_only(stack):
        wait_until(lambda: "refused: the database is read-only" in ask(stack).text)
        response = ask(stack)
    wait_until(lambda: ask(stack).status_code == 200)

    assert response.status_code == 503
    assert response.json()["reasons"] == ["writes: refused: the database is read-only"]


def test_hanging_database_is_unready_and_frees_threads(
    stack: Stack, threads: ThreadPoolExecutor
) -> None:
    with everything_paused(stack.postgres.pid):
        time.sleep(FRESH_SECONDS)
        began_at = time.monotonic()
        responses = list(threads.map(lambda _: ask(stack), range(3 * 64)))
        seconds = time.monotonic() - began_at
        alive = requests.get(f"{stack.url}/livez", timeout=30)
    wait_until(lambda: ask(stack).status_code == 200)

    assert {response.status_code for response in responses} == {503}
    assert responses[-1].json()["reasons"] == [f"database: {NO_ANSWER}"]
    assert seconds < TIMEOUT + BUSY
    assert alive.status_code == 200


@contextmanager
def everything_paused(pid: int) -> Iterator[None]:
    with ExitStack() as stack:
        for process_id in (pid, *children(pid)):
            stack.enter_context(paused(process_id))
        yield
