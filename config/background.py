"""What may follow a request: done soon, on a thread of its own, many askings at once."""

import os
import threading
import time
from collections.abc import Callable

import structlog

log = structlog.get_logger(__name__)

PAUSE = 0.01  # seconds between two runs, so that what comes together is done together
BACK_OFF = 1.0  # seconds after a run that failed


class Errand:
    """Runs `work` soon after it is asked for; `work` says whether it succeeded.

    The thread starts at the first asking, so that each forked process has its own.
    """

    def __init__(self, name: str, work: Callable[[], bool]) -> None:
        self._name, self._work = name, work
        self._wanted = threading.Event()
        self._starting = threading.Lock()
        self._pid = 0

    def ask(self) -> None:
        """Never blocks, never fails."""
        if self._pid != os.getpid():
            self._start()
        self._wanted.set()

    def _start(self) -> None:
        with self._starting:
            if self._pid != os.getpid():
                threading.Thread(target=self._run, name=self._name, daemon=True).start()
                self._pid = os.getpid()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            time.sleep(PAUSE if self._is_done() else BACK_OFF)

    def _is_done(self) -> bool:
        try:
            return self._work()
        except Exception:  # the thread's edge: it must outlive whatever comes
            log.exception("errand_failed", errand=self._name)
            return False
