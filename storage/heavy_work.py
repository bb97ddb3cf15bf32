"""Work that takes a processor for long, a few at a time per process. A flood of it must leave
processors, threads and database connections to codes and links.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock

from django.db import OperationalError, connection

from storage.sessions import give_back


class TooBusyError(OperationalError):
    """No fault of the database: a caller that asks too much gets the same answer."""


class HeavyWork:
    def __init__(
        self,
        name: str,
        *,
        most: int,
        waiting: int = 8,
        share: int | None = None,
        patience: float = 4.0,
    ) -> None:
        """`most` at once; `waiting` threads have `patience` seconds for a turn. A company has
        `share` places, half of the waiting ones if not given.
        """
        self.name, self.patience = name, patience
        self.turns, self.queue = BoundedSemaphore(most), BoundedSemaphore(most + waiting)
        self._share = waiting // 2 if share is None else share
        self._of_company, self._lock = Counter[int](), Lock()

    @contextmanager
    def turn(self, company_id: int | None) -> Iterator[None]:
        """Raises TooBusyError, which becomes a 503, when it is busy, or when the company has
        its share of the places already. None: what belongs to no company.
        """
        give_back()
        # Nobody may hold the connection of a transaction while waiting.
        patience = 0 if connection.in_atomic_block else self.patience
        if not self.queue.acquire(blocking=False):
            raise TooBusyError(f"{self.name}: too many are waiting")
        try:
            with self._company_slot(company_id):
                if not self.turns.acquire(timeout=patience):
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
            if self._of_company[company_id] >= self._share:
                raise TooBusyError(f"{self.name}: too many of one company are waiting")
            self._of_company[company_id] += 1
        try:
            yield
        finally:
            with self._lock:
                self._of_company[company_id] -= 1
                if not self._of_company[company_id]:
                    del self._of_company[company_id]
