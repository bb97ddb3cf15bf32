"""Runs migrations without blocking others; reports waits, and whether all are applied."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, NamedTuple

import psycopg
from django.db import DatabaseError, OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.backends.utils import CursorWrapper
from django.db.migrations import Migration
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState

from storage.statements import sql_files
from storage.statements.named_rows import fetch_all, fetch_one

Say = Callable[[str], None]

_INTERVAL = 0.2  # seconds between checks
_REPEAT_INTERVAL = 10.0  # seconds until a message is repeated

_SQL = sql_files.read_several("storage/schema_changes/waits.sql")


class _Wait(NamedTuple):
    mode: str
    target: str


class _Blocker(NamedTuple):
    """A row of `blockers`: without the query's text, which may hold a phone."""

    pid: int
    role: str
    state: str
    seconds: int


class _Progress(NamedTuple):
    name: str
    phase: str
    percent: int


@contextmanager
def reporting_waits(connection: BaseDatabaseWrapper, say: Say) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    has_ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(connection, pid, has_ended, say), daemon=True)
    watch.start()
    try:
        yield
    finally:
        has_ended.set()
        watch.join()


def _watch(connection: BaseDatabaseWrapper, pid: int, has_ended: threading.Event, say: Say) -> None:
    session = connection.copy()  # this thread's own connection, pooled only if that one is
    said_at: dict[str, float] = {}
    # If this connection fails, the migration goes on unwatched.
    with suppress(DatabaseError):
        while not has_ended.wait(_INTERVAL):
            with session.cursor() as cursor:
                subject, line = _wait_line(cursor, pid) or _index_line(cursor, pid)
            now = time.monotonic()
            if line and now - said_at.get(subject, -_REPEAT_INTERVAL) >= _REPEAT_INTERVAL:
                said_at[subject] = now
                say(line)
    session.close()


def _wait_line(cursor: CursorWrapper, pid: int) -> tuple[str, str] | None:
    cursor.execute(_SQL["wait"], [pid])
    wait = fetch_one(cursor, _Wait)
    if wait is None:
        return None
    cursor.execute(_SQL["blockers"], [pid])
    held = [
        f"process {blocker.pid} ({blocker.role}, {blocker.state}, for {blocker.seconds} s)"
        for blocker in fetch_all(cursor, _Blocker)
    ]
    holders = ", ".join(held) or "a prepared transaction, or a session that has ended"
    return wait.target, f"Waiting for {wait.mode} on {wait.target}: {holders}"


def _index_line(cursor: CursorWrapper, pid: int) -> tuple[str, str]:
    cursor.execute(_SQL["progress"], [pid])
    progress = fetch_one(cursor, _Progress)
    if progress is None:
        return "", ""
    return progress.name, f"Index {progress.name}: {progress.phase}, {progress.percent} %"


_RETRIED_ERRORS = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)
_MAX_PAUSE = 30.0  # seconds between two tries
# PostgreSQL checks a wait for a deadlock once, after `deadlock_timeout`: 1 s in other sessions. If
# the migration waits last, its own check comes first and it yields. If another session waits last,
# the migration's `lock_timeout` ends the deadlock before the other session checks.
_DEADLOCK_TIMEOUT = 0.2  # seconds
_SHORT_LOCK_TIMEOUT = 0.5  # seconds
_KEY = 0x6B7669746F6B  # of the advisory lock: "kvitok"


class LocksNotAvailableError(Exception):
    """No try got its locks in time."""


@contextmanager
def timeouts(connection: BaseDatabaseWrapper, *, lock: float) -> Iterator[None]:
    """Sets a short `lock_timeout` (`lock`, in seconds) and no `statement_timeout`."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = {int(lock * 1000)}")
        cursor.execute("SET statement_timeout = 0")
        # Checked first: PostgreSQL would log a refused SET as an error.
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
    """Whether the role may set it, by GRANT SET or as a superuser.

    Otherwise the service may lose a deadlock.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT has_parameter_privilege('deadlock_timeout', 'SET')")
        (may_set,) = cursor.fetchone()
    return bool(may_set)


@contextmanager
def one_run(connection: BaseDatabaseWrapper, say: Say) -> Iterator[None]:
    """Serialises migrations of a database."""
    # Polled: a waiting statement would hold a snapshot, for which a concurrent index build of the
    # other migration would wait.
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
    """Calls `run` until it gets its locks; raises LocksNotAvailableError after `give_up_after`
    seconds.
    """
    deadline = time.monotonic() + give_up_after
    pause = 1.0
    while True:
        try:
            run()
        except OperationalError as error:
            if not isinstance(error.__cause__, _RETRIED_ERRORS):
                raise
            if time.monotonic() + pause > deadline:
                raise LocksNotAvailableError from error
        else:
            return
        say(f"Gave up the lock so that nobody queues behind it; retrying in {pause:.0f} s")
        time.sleep(pause * random.uniform(0.5, 1))  # noqa: S311 - jitter
        pause = min(2 * pause, _MAX_PAUSE)


def render_first(migration: Migration) -> None:
    """Makes a transactional migration render all its states before it runs its operations."""
    if not migration.atomic or migration.initial:
        return  # it holds no lock across operations, or nobody uses its tables yet

    def apply(
        project_state: ProjectState, schema_editor: BaseDatabaseSchemaEditor, **_options: Any
    ) -> ProjectState:
        states = _rendered(migration, project_state)
        label = migration.app_label
        for operation, before, after in zip(migration.operations, states, states[1:], strict=False):
            operation.database_forwards(label, schema_editor, before, after)
        return states[-1]

    migration.apply = apply  # type: ignore[assignment, method-assign]


def _rendered(migration: Migration, state: ProjectState) -> list[ProjectState]:
    """The state before each operation, and that after the last."""
    states = [state.clone()]
    for operation in migration.operations:
        operation.state_forwards(migration.app_label, state)
        states.append(state.clone())
    for step in states:
        _ = step.apps
    return states


def unapplied_migrations() -> list[str]:
    applied = set(MigrationRecorder(connection).applied_migrations())
    return [f"{app}.{name}" for app, name in _on_disk() if (app, name) not in applied]


@cache
def _on_disk() -> list[tuple[str, str]]:
    return sorted(MigrationLoader(None, ignore_no_migrations=True).disk_migrations)
