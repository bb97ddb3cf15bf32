"""Limits CPU-bound work: each process runs only a little at a time.

A flood of it must leave processors, threads and database connections to codes and links.
"""

import time
from collections import Counter, defaultdict
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
        `company_limit` times, by default half of `max_waiting`. Another company's first call waits
        for the running work and for one of that company's calls, not for all of them.
        """
        self.name = name
        self.timeout = timeout
        self.turns = BoundedSemaphore(limit)
        self.queue = BoundedSemaphore(limit + max_waiting)
        self._company_limit = max_waiting // 2 if company_limit is None else company_limit
        self._of_company = Counter[int]()
        # Each is held by the one call of its company that waits for a turn.
        self._next_of_company = defaultdict[int, Lock](Lock)
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
            with self._company_slot(company_id) as next_of_company:
                if not self._wait(next_of_company, timeout):
                    raise TooBusyError(f"{self.name}: no turn in time")
                try:
                    yield
                finally:
                    self.turns.release()
        finally:
            self.queue.release()

    def _wait(self, next_of_company: Lock, timeout: float) -> bool:
        """Whether a turn came in time. The semaphore serves in the order of arrival, so only one
        call of a company waits for it.
        """
        ends_at = time.monotonic() + timeout
        if not next_of_company.acquire(timeout=timeout):
            return False
        try:
            return self.turns.acquire(timeout=max(0.0, ends_at - time.monotonic()))
        finally:
            next_of_company.release()

    @contextmanager
    def _company_slot(self, company_id: int | None) -> Iterator[Lock]:
        if company_id is None:
            yield Lock()
            return
        with self._lock:
            if self._of_company[company_id] >= self._company_limit:
                raise TooBusyError(f"{self.name}: too many of one company are waiting")
            self._of_company[company_id] += 1
            next_of_company = self._next_of_company[company_id]
        try:
            yield next_of_company
        finally:
            with self._lock:
                self._of_company[company_id] -= 1
                if not self._of_company[company_id]:
                    del self._of_company[company_id]
                    del self._next_of_company[company_id]
