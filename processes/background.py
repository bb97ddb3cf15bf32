"""Background threads: one runs when triggered, the other periodically."""

import os
import threading
import time
from collections.abc import Callable

import structlog
from django.db import connection

log = structlog.get_logger(__name__)

PAUSE = 0.01  # seconds between runs: triggers within it share a run
BACK_OFF = 1.0  # seconds after a failed run


class CoalescingThread:
    """Runs `work` soon after a trigger; `work` returns whether it succeeded.

    The thread starts at the first trigger, so each forked process has its own.
    """

    def __init__(self, name: str, work: Callable[[], bool]) -> None:
        self._name = name
        self._work = work
        self._triggered = threading.Event()
        self._starting = threading.Lock()
        self._pid = 0

    def trigger(self) -> None:
        """Makes `work` run soon; never blocks or fails."""
        if self._pid != os.getpid():
            self._start()
        self._triggered.set()

    def _start(self) -> None:
        with self._starting:
            if self._pid != os.getpid():
                threading.Thread(target=self._run, name=self._name, daemon=True).start()
                self._pid = os.getpid()

    def _run(self) -> None:
        while True:
            self._triggered.wait()
            self._triggered.clear()
            time.sleep(PAUSE if self._succeeds() else BACK_OFF)

    def _succeeds(self) -> bool:
        try:
            return self._work()
        except Exception:  # the thread must survive any failure of one run
            log.exception("background_work_failed", thread=self._name)
            return False


class PeriodicThread:
    """Runs `work` every `interval` seconds on a daemon thread; a slow run delays the next one."""

    def __init__(self, name: str, work: Callable[[], object], interval: float) -> None:
        self.name = name
        self._work = work
        self._interval = interval
        self._stopping = threading.Event()

    def start(self) -> None:
        """Starts the thread, which runs until `stop`, or for the life of the process."""
        threading.Thread(target=self.run, name=self.name, daemon=True).start()

    def run(self) -> None:
        next_run_at = time.monotonic()
        while not self._stopping.wait(next_run_at - time.monotonic()):
            next_run_at = time.monotonic() + self._interval
            try:
                self._work()
            except Exception as error:  # the top of the thread: the next run may succeed
                log.warning("periodic_work_failed", thread=self.name, error=type(error).__name__)
            connection.close()

    def stop(self) -> None:
        self._stopping.set()
