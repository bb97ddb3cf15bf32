"""A few rows that every process knows: read again every few seconds, by one thread while others
go on with what they have. Without the database what is known stays in force.
"""

import os
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

import structlog
from django.db import DatabaseError, connection
from django.db.backends.utils import CursorWrapper

from config.borrowed_connection import lent_connection

FRESH = 5.0  # seconds
BACK_OFF = 1.0

T = TypeVar("T")
log = structlog.get_logger(__name__)


class Known(Generic[T]):
    def __init__(self, name: str, read: Callable[[CursorWrapper], T], nothing: T) -> None:
        self._name, self._read, self._nothing = name, read, nothing
        self.reset()
        os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        """A forked child inherits locks in any state."""
        self._value = self._nothing
        self._fresh_until = float("-inf")
        self._reading = threading.Lock()

    def get(self) -> T:
        if time.monotonic() >= self._fresh_until:
            self._refresh()
        return self._value

    def forget(self) -> None:
        self._fresh_until = float("-inf")

    def keep_fresh(self) -> None:
        """From now on it is read beside the requests, which never wait for it."""
        threading.Thread(target=self._keep, name=self._name, daemon=True).start()

    def _keep(self) -> None:
        while True:
            try:
                self._value = self._ask()
            except Exception as error:  # the edge of a thread, which has to live on
                log.warning("not_read", what=self._name, error=type(error).__name__)
            self._fresh_until = float("inf")
            time.sleep(FRESH)

    def _refresh(self) -> None:
        # Nobody waits for another's read: that one might wait for a connection held here. Before
        # the first read of a process each reads for itself.
        is_first = self._fresh_until == float("-inf")
        has_turn = self._reading.acquire(blocking=False)
        if not (has_turn or is_first):
            return
        patience = FRESH
        try:
            self._value = self._ask()
        except DatabaseError as error:
            patience = BACK_OFF
            log.warning("not_read", what=self._name, error=type(error).__name__)
        finally:
            self._fresh_until = time.monotonic() + patience
            if has_turn:
                self._reading.release()

    def _ask(self) -> T:
        with lent_connection(), connection.cursor() as cursor:
            return self._read(cursor)
