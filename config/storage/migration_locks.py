"""What keeps a migration from blocking others: it waits briefly for locks, and tries again."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

Say = Callable[[str], None]

_RETRIED = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)
_LONGEST_PAUSE = 30.0  # seconds between two tries
# PostgreSQL looks for a deadlock once in a wait, after `deadlock_timeout`, at 1 s elsewhere.
# One that the migration completes it finds first, and yields; one that another completes later
# ends with the migration's `lock_timeout`, before the other looks.
_DEADLOCK_TIMEOUT, _SHORT_LOCK_TIMEOUT = 0.2, 0.5  # seconds
_KEY = 0x6B7669746F6B  # of the advisory lock: "kvitok"


class LocksNotAvailableError(Exception):
    """The time for tries is over."""


@contextmanager
def timeouts(connection: BaseDatabaseWrapper, *, lock: float) -> Iterator[None]:
    """A short `lock_timeout` (in seconds), and no limit on how long a statement may work."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = {int(lock * 1000)}")
        cursor.execute("SET statement_timeout = 0")
        # Asked first: a refused SET would stand in the log of PostgreSQL as an error.
        if can_yield := may_set_deadlock_timeout(connection):
            cursor.execute(f"SET deadlock_timeout = {int(_DEADLOCK_TIMEOUT * 1000)}")
            cursor.execute(f"SET lock_timeout = {int(min(lock, _SHORT_LOCK_TIMEOUT) * 1000)}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")
            cursor.execute("RESET statement_timeout")
            if can_yield:
                cursor.execute("RESET deadlock_timeout")


def may_set_deadlock_timeout(connection: BaseDatabaseWrapper) -> bool:
    """True of a superuser, and by GRANT SET; otherwise the service may lose a deadlock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT has_parameter_privilege('deadlock_timeout', 'SET')")
        (may_set,) = cursor.fetchone()
    return bool(may_set)


@contextmanager
def only_one(connection: BaseDatabaseWrapper, say: Say) -> Iterator[None]:
    """One migration at a time for a database."""
    # Asked again and again: a statement that waited would hold a snapshot, and a concurrent
    # index build of the other migration would wait for that.
    if not _advisory(connection, "pg_try_advisory_lock"):
        say("Waiting for another migrate of this database …")
        while not _advisory(connection, "pg_try_advisory_lock"):
            time.sleep(0.2)
    try:
        yield
    finally:
        _advisory(connection, "pg_advisory_unlock")


def _advisory(connection: BaseDatabaseWrapper, function: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}({_KEY})")
        (is_done,) = cursor.fetchone()
    return bool(is_done)


def retry(run: Callable[[], object], *, give_up_after: float, say: Say) -> None:
    """Call `run` until it gets its locks; raises LocksNotAvailableError after that many seconds."""
    deadline = time.monotonic() + give_up_after
    pause = 1.0
    while True:
        try:
            run()
        except OperationalError as error:
            if not isinstance(error.__cause__, _RETRIED):
                raise
            if time.monotonic() + pause > deadline:
                raise LocksNotAvailableError from error
        else:
            return
        say(f"Gave the lock up, so that nobody queues behind it; trying again in {pause:.0f} s")
        time.sleep(pause * random.uniform(0.5, 1))  # noqa: S311 - jitter
        pause = min(2 * pause, _LONGEST_PAUSE)
