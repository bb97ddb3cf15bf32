"""Says what a connection waits for, and how far the index is that it builds."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from django.db import DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from config.storage.statements.named_rows import fetch_all, fetch_one

Say = Callable[[str], None]

_INTERVAL = 0.2  # seconds between two looks
_REPEATED = 10.0  # seconds until the same is said again

_WAIT = r"""
SELECT lower(regexp_replace(mode, '([a-z])([A-Z])', '\1 \2', 'g')) AS mode,
       COALESCE(relation::regclass::text, 'a transaction') AS target
FROM pg_locks WHERE pid = %s AND NOT granted LIMIT 1
"""
_BLOCKERS = """
SELECT pid, COALESCE(usename::text, backend_type) AS role,
       COALESCE(state, 'unknown state') AS state,
       COALESCE(EXTRACT(epoch FROM clock_timestamp() - xact_start)::int, 0) AS seconds
FROM pg_stat_activity WHERE pid = ANY(pg_blocking_pids(%s)) ORDER BY xact_start LIMIT 3
"""
_PROGRESS = """
SELECT index_relid::regclass::text AS name, phase, 100 * blocks_done / blocks_total AS percent
FROM pg_stat_progress_create_index WHERE pid = %s AND blocks_total > 0
"""


class _Wait(NamedTuple):
    """The row of `_WAIT`."""

    mode: str
    target: str


class _Blocker(NamedTuple):
    """A row of `_BLOCKERS`: without the query's text, which may hold a phone."""

    pid: int
    role: str
    state: str
    seconds: int


class _Progress(NamedTuple):
    """The row of `_PROGRESS`."""

    name: str
    phase: str
    percent: int


@contextmanager
def watched(connection: BaseDatabaseWrapper, say: Say) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(connection, pid, over, say), daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()


def _watch(connection: BaseDatabaseWrapper, pid: int, over: threading.Event, say: Say) -> None:
    own = connection.copy()  # a connection of this thread, with a pool only if that one has
    said_at: dict[str, float] = {}
    # Without its own connection the migration goes on, unwatched.
    with suppress(DatabaseError):
        while not over.wait(_INTERVAL):
            with own.cursor() as cursor:
                subject, line = _waiting(cursor, pid) or _building(cursor, pid)
            now = time.monotonic()
            if line and now - said_at.get(subject, -_REPEATED) >= _REPEATED:
                said_at[subject] = now
                say(line)
    own.close()


def _waiting(cursor: CursorWrapper, pid: int) -> tuple[str, str] | None:
    cursor.execute(_WAIT, [pid])
    wait = fetch_one(cursor, _Wait)
    if wait is None:
        return None
    cursor.execute(_BLOCKERS, [pid])
    held = [
        f"process {one.pid} ({one.role}, {one.state}, for {one.seconds} s)"
        for one in fetch_all(cursor, _Blocker)
    ]
    holders = ", ".join(held) or "a prepared transaction, or somebody who is gone by now"
    return wait.target, f"Waiting for {wait.mode} on {wait.target}: {holders}"


def _building(cursor: CursorWrapper, pid: int) -> tuple[str, str]:
    cursor.execute(_PROGRESS, [pid])
    progress = fetch_one(cursor, _Progress)
    if progress is None:
        return "", ""
    return progress.name, f"Index {progress.name}: {progress.phase}, {progress.percent} %"
