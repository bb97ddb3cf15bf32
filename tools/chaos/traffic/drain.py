"""Drains open messages after the load, by waiting or by ageing their rows."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Protocol

from tools.chaos import database
from tools.chaos.database import DatabaseProbe

POLL_INTERVAL = 0.2
RECEIPT_TIMEOUT = 12.0  # seconds for vendors to send their receipts
ENDED_WITHIN = 5.0  # seconds past its deadline in which a message must end
POLL_ROUNDS, POLL_ROUND = 2, 3.5
PENDING_RECEIPTS = "SELECT count(*) FROM messages WHERE pending <> ''"


class Runner(Protocol):
    """Whoever supervises the programs meanwhile."""

    def run(self, until: Callable[[], bool], seconds: float) -> bool: ...


class Drain:
    def __init__(self, simulator_log: Path, asked: DatabaseProbe, runner: Runner) -> None:
        self._simulator_log, self._database, self._runner = simulator_log, asked, runner
        self._looked = 0.0
        self._seen: int | None = None

    def wait(self, hold_deadline: float) -> None:
        """Wait until the last deadline is past: late repeats may still create messages."""
        self._run(database.IN_TIME, 2 * hold_deadline)

    def hurry(self) -> None:
        """Wait for receipts and polls, then age the deadlines of messages still open."""
        self._runner.run(self._is_told, RECEIPT_TIMEOUT)
        self._run(database.UNDER_WAY, RECEIPT_TIMEOUT)
        for _ in range(POLL_ROUNDS):
            self._database.change(database.AGE_POLLS)
            self._run(database.POLLED, POLL_ROUND)
        self._database.change(database.AGE_LEASES)
        self._database.change(database.AGE_DEADLINES)
        self._run(database.OPEN, ENDED_WITHIN)

    def _run(self, query: str, seconds: float) -> None:
        """Wait until a count is zero."""
        self._seen = None
        self._runner.run(lambda: self._look(query) == 0, seconds)

    def _look(self, query: str) -> int | None:
        if time.monotonic() > self._looked + POLL_INTERVAL:
            self._looked = time.monotonic()
            self._seen = self._database.number(query)
        return self._seen

    def _is_told(self) -> bool:
        if time.monotonic() < self._looked + POLL_INTERVAL:
            return False
        self._looked = time.monotonic()
        path = f"file:{self._simulator_log}?mode=ro"
        with closing(sqlite3.connect(path, uri=True)) as log:
            (untold,) = log.execute(PENDING_RECEIPTS).fetchone()
        return bool(untold == 0)
