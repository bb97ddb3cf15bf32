"""Reads from a streaming replica: lists, exports and statistics of the cabinet, nothing else.

A read says what it must see: everything that was committed before a moment. A thread notes once a
second where the primary's log ends and how far the replica has replayed it, so each process knows
up to which moment the replica is complete. Without such knowledge, or in a transaction, a read goes
to the primary.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeVar

import structlog
from django.conf import settings
from django.db import (
    DEFAULT_DB_ALIAS,
    Error,
    InterfaceError,
    OperationalError,
    connection,
    connections,
)
from django.db.backends.base.base import BaseDatabaseWrapper

from config.background import PeriodicThread

log = structlog.get_logger(__name__)

ALIAS = "replica"
INTERVAL = 1.0  # seconds between two looks at it
CLOCK_MARGIN = 1.0  # seconds by which the clocks of the web machines may differ
T = TypeVar("T")

# The end of what is inserted: a commit may be acknowledged before it is written.
_END = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"
_REPLAYED = """
SELECT pg_is_in_recovery(), pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint"""


@dataclass(slots=True)
class _Scope:
    """Of reads that may go to the replica."""

    must_see: float
    has_used_replica: bool = False


_scope: ContextVar[_Scope | None] = ContextVar("replica_scope", default=None)


class _Mark(NamedTuple):
    at: float
    end: int  # of the primary's log


class Watch:
    """Knows up to which moment the replica is complete."""

    def __init__(self) -> None:
        self._marks: deque[_Mark] = deque(maxlen=600)
        self._complete_until = float("-inf")
        self._starting = threading.Lock()
        self._thread: PeriodicThread | None = None

    def has(self, moment: float) -> bool:
        """Whether the replica has all commits of before, and does not lag too much."""
        self._start()
        until, now = self._complete_until, time.time()
        return until >= moment + CLOCK_MARGIN and now - until <= settings.DATABASE_REPLICA_MAX_LAG

    def distrust(self, error: Exception) -> None:
        """After an error: until the next look."""
        self._complete_until = float("-inf")
        log.warning("replica_failed", error=type(error).__name__)

    def look(self) -> None:
        at = time.time()
        with connection.cursor() as cursor:
            cursor.execute(_END)
            self._marks.append(_Mark(at, cursor.fetchone()[0]))
        connection.close()
        try:
            replayed = _replayed()
        except Error as error:
            self.distrust(error)
            return
        complete = [mark.at for mark in self._marks if mark.end <= replayed]
        self._complete_until = max(complete, default=float("-inf"))

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = PeriodicThread("replica-watch", self.look, INTERVAL)
                self._thread.start()

    def stop(self) -> None:
        if self._thread is not None:
            self._thread.stop()


@cache
def watch() -> Watch:
    return Watch()


def _replayed() -> int:
    """How far the replica is; -1 for a server that is none (any more)."""
    try:
        with connections[ALIAS].cursor() as cursor:
            cursor.execute(_REPLAYED)
            is_replica, end = cursor.fetchone()
    finally:
        connections[ALIAS].close()
    return int(end) if is_replica else -1


def is_configured() -> bool:
    return ALIAS in connections.settings


@contextmanager
def _reading(scope: _Scope) -> Iterator[None]:
    token = _scope.set(scope)
    try:
        yield
    finally:
        _scope.reset(token)


def read(work: Callable[[], T], *, must_see: float) -> T:
    """The result of `work`, whose reads may go to the replica; it may run a second time, on the
    primary, if that fails. `must_see`: the moment before which every commit must be visible.
    """
    if not is_configured():
        return work()
    scope = _Scope(must_see)
    try:
        with _reading(scope):
            return work()
    except (OperationalError, InterfaceError) as error:
        if not scope.has_used_replica:
            raise
        watch().distrust(error)
        close()
        return work()


def stream(lines: Iterator[T], *, must_see: float) -> Iterator[T]:
    """The same for an iterator, which runs after its view."""
    if not is_configured():
        yield from lines
        return
    done = object()
    while True:
        with _reading(_Scope(must_see)):
            line: Any = next(lines, done)
        if line is done:
            return
        yield line


def alias() -> str:
    scope = _scope.get()
    if scope is None or connection.in_atomic_block or not watch().has(scope.must_see):
        return DEFAULT_DB_ALIAS
    scope.has_used_replica = True
    return ALIAS


def read_connection() -> BaseDatabaseWrapper:
    """The connection for a statement in SQL that only reads."""
    return connections[alias()]


def close() -> None:
    """Gives this thread's connection to the replica back."""
    if is_configured():
        connections[ALIAS].close()


class Router:
    """Writes go to the primary; so do reads, unless their context allows the replica."""

    def db_for_read(self, _model: type, **_hints: Any) -> str:
        return alias()

    def db_for_write(self, _model: type, **_hints: Any) -> str:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, _first: object, _second: object, **_hints: Any) -> bool:
        return True  # both are the same database

    def allow_migrate(self, db: str, _app_label: str, **_hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS
