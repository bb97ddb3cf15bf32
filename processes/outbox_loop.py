"""The loop that serves an outbox: it claims due rows, starts calls, and records their outcomes.

One thread runs the loop and owns the database connection; calls run on a pool of threads, outside
any transaction. A claim is committed before its call, so a crash leaves a lease that expires, not
an unrecorded call.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Generic, ParamSpec, TypeVar

import structlog
from django.db import connection

log = structlog.get_logger(__name__)

BATCH_SIZE = 64  # outcomes per commit, at most
DRAIN_TRIES = 20
ERROR_PAUSE = 0.2  # seconds

Outcome = TypeVar("Outcome")
P = ParamSpec("P")


class OutboxLoop(Generic[Outcome]):
    """A loop over due work, whose owner gives `run` the functions that start and record work."""

    def __init__(self, name: str, threads: int, wake: threading.Event | None = None) -> None:
        """Prepares the loop; `wake` starts a round as `wake()` does, and others may set it too."""
        self.name = name
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self.stopping = threading.Event()
        self._wake = wake or threading.Event()
        self._returned: SimpleQueue[Outcome] = SimpleQueue()

    def run(
        self,
        start_round: Callable[[], None],
        record: Callable[[], None],
        pause: Callable[[], float],
    ) -> None:
        """Runs rounds until `stop`: at once, then after each outcome, wake-up or pause (seconds).

        Then waits for running calls, which time out, and records their outcomes.
        """
        while not self.stopping.is_set():
            self._wake.clear()  # before the round: work that arrives during it causes another one
            self.run_safely(start_round)
            self._wake.wait(pause())
        self.pool.shutdown(wait=True)
        for _ in range(DRAIN_TRIES):
            if self.run_safely(record):
                break
        connection.close()

    def call(self, function: Callable[P, Outcome], *args: P.args, **kwargs: P.kwargs) -> None:
        """Calls the function on a thread; its result is an outcome.

        It must not raise, or its owner would count the call as running forever.
        """
        self.pool.submit(lambda: self.add(function(*args, **kwargs)))

    def add(self, outcome: Outcome) -> None:
        self._returned.put(outcome)
        self._wake.set()

    def returned(self) -> Iterator[Outcome]:
        """Takes the outcomes added since the last call."""
        try:
            while True:
                yield self._returned.get_nowait()
        except Empty:
            return

    def wake(self) -> None:
        self._wake.set()

    def stop(self) -> None:
        self.stopping.set()
        self._wake.set()

    def run_safely(self, work: Callable[[], None]) -> bool:
        """Runs `work`, and logs any error; outcomes that are not written stay with their owner."""
        try:
            work()
        except Exception:
            log.exception("dispatch_failed", loop=self.name)
            connection.close()
            time.sleep(ERROR_PAUSE)
            return False
        return True


def write_in_batches(unwritten: list[Outcome], write: Callable[[list[Outcome]], None]) -> None:
    """Writes all outcomes; removes a batch from the list once it is written."""
    while unwritten:
        batch = unwritten[:BATCH_SIZE]
        write(batch)
        del unwritten[: len(batch)]
