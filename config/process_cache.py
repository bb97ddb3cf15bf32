"""A small table cached in every process: one thread reads it again every few seconds while others
use the cached value. The cached value stays in force while the database is away.
"""

import os
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

import structlog
from django.db import DatabaseError, connection
from django.db.backends.utils import CursorWrapper

from config.pooled_connection import pooled_connection

REFRESH_INTERVAL = 5.0  # seconds
RETRY_DELAY = 1.0

T = TypeVar("T")
log = structlog.get_logger(__name__)


class ProcessCache(Generic[T]):
    def __init__(self, name: str, read: Callable[[CursorWrapper], T], default: T) -> None:
        self._name, self._read, self._default = name, read, default
        self.reset()
        os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        """A forked child inherits locks in any state."""
        self._value = self._default
        self._expires_at = float("-inf")
        self._read_lock = threading.Lock()

    def get(self) -> T:
        if time.monotonic() >= self._expires_at:
            self._refresh()
        return self._value

    def invalidate(self) -> None:
        self._expires_at = float("-inf")

    def keep_fresh(self) -> None:
        """Starts a thread that refreshes the value, so that no request waits for a read."""
        threading.Thread(target=self._refresh_forever, name=self._name, daemon=True).start()

    def _refresh_forever(self) -> None:
        while True:
            try:
                self._value = self._read_from_database()
            except Exception as error:  # the edge of a thread, which must not end
                log.warning("cache_not_refreshed", cache=self._name, error=type(error).__name__)
            self._expires_at = float("inf")
            time.sleep(REFRESH_INTERVAL)

    def _refresh(self) -> None:
        # No thread waits for another's read, which might wait for a connection held here. Until the
        # first read of a process each thread reads for itself.
        is_first = self._expires_at == float("-inf")
        has_lock = self._read_lock.acquire(blocking=False)
        if not (has_lock or is_first):
            return
        ttl = REFRESH_INTERVAL
        try:
            self._value = self._read_from_database()
        except DatabaseError as error:
            ttl = RETRY_DELAY
            log.warning("cache_not_refreshed", cache=self._name, error=type(error).__name__)
        finally:
            self._expires_at = time.monotonic() + ttl
            if has_lock:
                self._read_lock.release()

    def _read_from_database(self) -> T:
        with pooled_connection(), connection.cursor() as cursor:
            return self._read(cursor)
