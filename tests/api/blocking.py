"""Two transactions on one row: the second waits, visibly, until the first commits."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from django.db import connection, transaction

from tests.session_settings import session_setting
from tests.sql import execute
from tests.stack.programs import wait_until

T = TypeVar("T")
# The lock table is read again each time; the activity view stays for a whole transaction.
_WAITING = """
SELECT pid FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))
"""


def start_blocked(pool: ThreadPoolExecutor, call: Callable[[], T]) -> "Future[T]":
    """Starts `call` on its own connection; returns once it waits for this one, or has ended."""
    running = pool.submit(on_own_connection, call)
    wait_until(lambda: bool(waiting()) or running.done())
    return running


def on_own_connection(call: Callable[[], T]) -> T:
    """Runs on a pool thread, and leaves no connection behind."""
    try:
        return call()
    finally:
        connection.close()


def waiting() -> list[int]:
    """The connections that wait for locks of this one."""
    return [pid for (pid,) in execute(_WAITING)]


def end_waiting() -> None:
    """Ends their sessions, as if the database had gone away."""
    execute("SELECT pg_terminate_backend(unnest(%s))", [waiting()])


@contextmanager
def locked_by_another(lock: Callable[[], object], *, timeout: str = "20ms") -> Iterator[None]:
    """Locks in a transaction that takes its time; our statements wait for it this long."""
    is_locked = threading.Event()
    has_ended = threading.Event()

    def hold() -> None:
        with transaction.atomic():
            lock()
            is_locked.set()
            has_ended.wait(60)

    thread = threading.Thread(target=on_own_connection, args=[hold])
    thread.start()
    assert is_locked.wait(25)
    try:
        with session_setting("lock_timeout", f"'{timeout}'"):
            yield
    finally:
        has_ended.set()
        thread.join(10)
