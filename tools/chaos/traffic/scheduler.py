"""Runs work at a given time on a pool of threads."""

import heapq
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any


class Scheduler:
    def __init__(self, threads: int) -> None:
        self.errors: list[BaseException] = []
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="client")
        self._due: list[tuple[float, int, Callable[[], Any]]] = []
        self._numbers = count()
        self._open = 0  # entries that are not done
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="agenda", daemon=True)
        self._thread.start()

    @property
    def is_done(self) -> bool:
        return self._open == 0

    def at(self, moment: float, work: Callable[[], Any]) -> None:
        """Schedule for this monotonic time, or as soon as a thread is free."""
        with self._changed:
            self._open += 1
            heapq.heappush(self._due, (moment, next(self._numbers), work))
            self._changed.notify()

    def now(self, work: Callable[[], Any]) -> None:
        self.at(time.monotonic(), work)

    def close(self) -> None:
        """Drop work that is not due and wait for running work."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._closing and not self._is_due():
                    first = self._due[0][0] if self._due else time.monotonic() + 1
                    self._changed.wait(max(0.001, first - time.monotonic()))
                if self._closing:
                    return
                work = heapq.heappop(self._due)[2]
            self._pool.submit(self._do, work)

    def _is_due(self) -> bool:
        return bool(self._due) and self._due[0][0] <= time.monotonic()

    def _do(self, work: Callable[[], Any]) -> None:
        try:
            work()
        except Exception as error:  # the edge of the thread: reported at the end of the run
            self.errors.append(error)
        finally:
            with self._changed:
                self._open -= 1
