"""Archives old months while messages are sent and is killed, and has a month begin meanwhile."""

import random
import time
from datetime import UTC, date, datetime
from typing import Any

import psycopg

from config.ids import first_id_at
from config.storage.months import closed_months
from config.storage.months.calendar import month_of, next_month
from config.storage.months.partitions import TABLES
from tests.stack.programs import Program
from tools.chaos.faults.fault_injector import FaultInjector
from tools.chaos.stack import Stack

LIFE, PAUSE = (2.0, 8.0), (0.1, 0.6)  # seconds of a run until it is killed, and until the next
LAST_TRIES, LONGEST_RUN = 3, 120.0


def begin_next_month(dsn: str, at: datetime) -> None:
    """Moves the border between this month's partitions and the next one's, which are empty: ids of
    the load lie in two months. Yields to the service until it has its locks.
    """
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute("SET lock_timeout = '100ms'")
        while True:
            try:
                with session.transaction():
                    _move_borders(session, at)
            except psycopg.errors.LockNotAvailable:
                time.sleep(0.1)
            else:
                return


def _move_borders(session: psycopg.Connection[Any], at: datetime) -> None:
    this = month_of(datetime.now(UTC), UTC)
    after = next_month(this)
    for name in closed_months.LOCK_ORDER:
        session.execute(f"LOCK TABLE ONLY {name} IN ACCESS EXCLUSIVE MODE")
    for table in TABLES:
        ends = [start_of(this), at, start_of(next_month(after))]
        is_by_time = table.key.endswith("_at")
        bounds = [one.isoformat() if is_by_time else first_id_at(one) for one in ends]
        parts = [closed_months.partition(table.name, month) for month in (this, after)]
        for part in parts:
            session.execute(f"ALTER TABLE {table.name} DETACH PARTITION {part}")
        for part, since, until in zip(parts, bounds, bounds[1:], strict=False):
            session.execute(
                f"ALTER TABLE {table.name} ATTACH PARTITION {part}"
                f" FOR VALUES FROM ('{since}') TO ('{until}')"
            )


class Archiver:
    """Runs the command again and again, and kills it; the last run may finish."""

    def __init__(self, stack: Stack, injector: FaultInjector, *, before: date, seed: int) -> None:
        self.directory = stack.place / "archive"
        self.directory.mkdir()
        self.before, self.kills = before, 0
        command = ["-m", "tools.chaos.archiving", f"{before:%Y-%m}", str(self.directory)]
        log = stack.place / "archiver.log"
        self._program = Program(command, log=log, environ=stack.environ)
        self._injector = injector
        self._dice = random.Random(f"{seed}:archiver")  # noqa: S311 - to be drawn again
        self._is_over = False

    def start(self) -> None:
        if not self._is_over:
            self._program.launch()
            self._injector.after(self._dice.uniform(*LIFE), self._end)

    def _end(self) -> None:
        if self._is_over:
            return
        if self._program.running.poll() is None:
            self.kills += 1
        self._program.kill()
        self._injector.after(self._dice.uniform(*PAUSE), self.start)

    def finish(self) -> bool:
        """Whether a run that nobody kills ends well."""
        self._is_over = True
        self._program.kill()
        for _try in range(LAST_TRIES):
            self._program.launch()
            if self._program.wait_stopped(LONGEST_RUN) == 0:
                return True
        return False


def start_of(month: date) -> datetime:
    return datetime(month.year, month.month, 1, tzinfo=UTC)
