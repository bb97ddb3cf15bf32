"""Work that takes a processor for long, a few at a time per process. A flood of it must leave
processors, threads and database connections to codes and links.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from django.db import OperationalError, connection

from storage.sessions import give_back


class HeavyWork:
    def __init__(self, name: str, *, most: int, waiting: int = 8, patience: float = 4.0) -> None:
        """`most` at once; `waiting` threads have `patience` seconds for a turn."""
        self.name, self.patience = name, patience
        self.turns, self.queue = BoundedSemaphore(most), BoundedSemaphore(most + waiting)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Raises OperationalError, which becomes a 503, when it is busy."""
        give_back()
        # Nobody may hold the connection of a transaction while waiting.
        patience = 0 if connection.in_atomic_block else self.patience
        if not self.queue.acquire(blocking=False):
            raise OperationalError(f"{self.name}: too many are waiting")
        try:
            if not self.turns.acquire(timeout=patience):
                raise OperationalError(f"{self.name}: no turn in time")
            try:
                yield
            finally:
                self.turns.release()
        finally:
            self.queue.release()
