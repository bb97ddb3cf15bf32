"""Two transactions on one row: the second waits, visibly, until the first commits."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from django.db import connection

from tests.stack.programs import wait_until

T = TypeVar("T")
# The lock table is read again each time; the activity view stays for a whole transaction.
_WAITING = """
SELECT pid FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))
"""


def behind_us(pool: ThreadPoolExecutor, call: Callable[[], T]) -> "Future[T]":
    """Start `call` on a connection of its own; return once it waits for this transaction, or
    has ended without.
    """
    running = pool.submit(apart, call)
    wait_until(lambda: bool(waiting()) or running.done())
    return running


def apart(call: Callable[[], T]) -> T:
    """On a thread of a pool: leave no connection behind."""
    try:
        return call()
    finally:
        connection.close()


def waiting() -> list[int]:
    """The connections that wait for what this one has locked."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITING)
        return [pid for (pid,) in cursor.fetchall()]
