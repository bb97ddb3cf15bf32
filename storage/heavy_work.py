"""Limits CPU-bound work: each process runs only a little at a time.

A flood of it must leave processors, threads and database connections to codes and links.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock

from django.db import OperationalError, connection

from storage.sessions import release_connection


class TooBusyError(OperationalError):
    """There are too many callers. Not a fault of the database, but a 503 like its outages."""


class HeavyWork:
    def __init__(
        self,
        name: str,
        *,
        limit: int,
        max_waiting: int = 8,
        company_limit: int | None = None,
        timeout: float = 4.0,
    ) -> None:
        """Declares work of which at most `limit` run at once.

        `max_waiting` more threads wait up to `timeout` seconds. One company may run or wait
        `company_limit` times, by default half of `max_waiting`.
        """
        self.name = name
        self.timeout = timeout
        self.turns = BoundedSemaphore(limit)
        self.queue = BoundedSemaphore(limit + max_waiting)
        self._company_limit = max_waiting // 2 if company_limit is None else company_limit
        self._of_company = Counter[int]()
        self._lock = Lock()

    @contextmanager
    def turn(self, company_id: int | None) -> Iterator[None]:
        """The context in which the work runs; `company_id` is None for work of no company.

        Raises TooBusyError, which becomes a 503, if no turn comes in time or the company has
        reached its limit.
        """
        release_connection()
        # In a transaction a waiting caller would hold its connection, so it does not wait.
        timeout = 0 if connection.in_atomic_block else self.timeout
        if not self.queue.acquire(blocking=False):
            raise TooBusyError(f"{self.name}: too many are waiting")
        try:
            with self._company_slot(company_id):
                if not self.turns.acquire(timeout=timeout):
                    raise TooBusyError(f"{self.name}: no turn in time")
                try:
                    yield
                finally:
                    self.turns.release()
        finally:
            self.queue.release()

    @contextmanager
    def _company_slot(self, company_id: int | None) -> Iterator[None]:
        if company_id is None:
            yield
            return
        with self._lock:
            if self._of_company[company_id] >= self._company_limit:
                raise TooBusyError(f"{self.name}: too many of one company are waiting")
            self._of_company[company_id] += 1
        try:
            yield
        finally:
            with self._lock:
                self._of_company[company_id] -= 1
                if not self._of_company[company_id]:
                    del self._of_company[company_id]
