"""Per-process caches of database values, for a few seconds.

`SnapshotCache` has one value that is read whole, such as a small table; `KeyedCache` has values by
key, read one by one.
"""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Generic, Protocol, TypeVar

import structlog
from django.db import DatabaseError, InterfaceError, connection
from django.db.backends.utils import CursorWrapper
from psycopg_pool import PoolTimeout

from processes.background import PeriodicThread
from processes.process_state import on_reset
from storage.sessions import pooled_connection

REFRESH_INTERVAL = 5.0  # seconds
RETRY_DELAY = 1.0
FIRST_READ_TIMEOUT = 6.0  # seconds to wait for another thread's; a little longer than the pool's
SINGLE_FLIGHT_TIMEOUT = 2.0  # seconds to wait for another thread's load of the same key
UNAVAILABLE = (DatabaseError, InterfaceError, PoolTimeout)
_NEVER = float("-inf")

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
log = structlog.get_logger(__name__)


class SharedCopy(Protocol[T]):
    """A copy outside PostgreSQL, for a process that starts while the database is unavailable."""

    def read(self) -> T | None: ...
    def write(self, value: T, /) -> None: ...


class SnapshotCache(Generic[T]):
    """A cache of one value; the last one read stays in use while the database is unavailable."""

    def __init__(
        self,
        name: str,
        read: Callable[[CursorWrapper], T],
        default: T,
        *,
        interval: float = REFRESH_INTERVAL,
        copy: SharedCopy[T] | None = None,
    ) -> None:
        self._name = name
        self._read = read
        self._default = default
        self._interval = interval
        self._copy = copy
        self.reset()
        on_reset(self.reset)

    def reset(self) -> None:
        """Resets the cache as if the process had just started."""
        self.value = self._default
        self.is_loaded = False
        self._stale_at = _NEVER
        self._lock = threading.Lock()

    @property
    def is_stale(self) -> bool:
        return time.monotonic() >= self._stale_at

    def invalidate(self) -> None:
        self._stale_at = _NEVER

    def get(self) -> T:
        """The value for requests: one thread refreshes a stale value while other threads use it."""
        if time.monotonic() >= self._stale_at:
            self._refresh_stale()
        return self.value

    def read(self) -> None:
        """Reads now, on the caller's connection, one thread at a time; raises the read's error."""
        with self._lock:
            self._read_value()

    def refresh(self) -> None:
        """Reads now; never raises."""
        try:
            with pooled_connection():
                self.read()
        except Exception as error:  # the edge of a thread; the last value still holds
            self._log_failure(error)

    def ensure_loaded(self) -> None:
        """Waits for the first read, made by one thread for all; raises if no store can be read."""
        if self.is_loaded:
            return
        if not self._lock.acquire(timeout=FIRST_READ_TIMEOUT):
            raise TimeoutError(f"{self._name}: no store can be read")
        try:
            if not self.is_loaded:
                self._read_first()
        finally:
            self._lock.release()

    def keep_fresh(self) -> PeriodicThread:
        """Starts a thread that refreshes the value, so that no request waits for a read."""
        thread = PeriodicThread(self._name, self._refresh_for_requests, self._interval)
        thread.start()
        return thread

    def _refresh_for_requests(self) -> None:
        self.refresh()
        self._stale_at = float("inf")

    def _refresh_stale(self) -> None:
        # No thread waits for another's read, which might wait for a connection held here. Until the
        # first read of a process each thread reads for itself.
        is_first = self._stale_at == _NEVER
        has_lock = self._lock.acquire(blocking=False)
        if not (has_lock or is_first):
            return
        try:
            with pooled_connection():
                self._read_value()
        except UNAVAILABLE as error:
            self._stale_at = time.monotonic() + RETRY_DELAY
            self._log_failure(error)
        finally:
            if has_lock:
                self._lock.release()

    def _read_first(self) -> None:
        try:
            with pooled_connection():
                self._read_value()
        except UNAVAILABLE:
            copy = self._copy.read() if self._copy else None
            if copy is None:
                raise
            self.value = copy
            self.is_loaded = True
            log.warning("cache_read_from_copy", cache=self._name)

    def _read_value(self) -> None:
        with connection.cursor() as cursor:
            self.value = self._read(cursor)
        self.is_loaded = True
        self._stale_at = time.monotonic() + self._interval
        if self._copy:
            self._copy.write(self.value)

    def _log_failure(self, error: Exception) -> None:
        log.warning("cache_not_refreshed", cache=self._name, error=type(error).__name__)


class KeyedCache(Generic[K, V]):
    """Values for `ttl` seconds each; emptied when it is full.

    Hot paths look into `entries` themselves, because a call costs as much as the lookup.
    """

    def __init__(self, ttl: float, max_entries: int) -> None:
        self.ttl = ttl
        self._max_entries = max_entries
        # Each with the time at which it expires, by the monotonic clock.
        self.entries: dict[K, tuple[float, V]] = {}
        self._flights: dict[K, Future[V]] = {}

    def load(self, key: K, read: Callable[[], V]) -> V:
        """The value of a key, read by one of all threads that need it at once (single flight)."""
        future: Future[V] = Future()
        flight = self._flights.setdefault(key, future)
        if flight is not future:
            return flight.result(SINGLE_FLIGHT_TIMEOUT)
        try:
            value = read()
            # Otherwise the key was invalidated after the read began.
            if self._flights.get(key) is future:
                self.store({key: value}, time.monotonic())
            future.set_result(value)
        except BaseException as error:
            future.set_exception(error)
            raise
        finally:
            if self._flights.get(key) is future:
                self._flights.pop(key, None)
        return value

    def store(self, values: Mapping[K, V], read_at: float) -> None:
        if len(self.entries) + len(values) > self._max_entries:
            self.entries.clear()
        expires_at = read_at + self.ttl
        self.entries.update((key, (expires_at, value)) for key, value in values.items())

    def discard(self, key: K) -> None:
        self.entries.pop(key, None)

    def clear(self) -> None:
        """Empties the cache, and drops reads in flight: they may have begun before the change."""
        self._flights.clear()
        self.entries.clear()
