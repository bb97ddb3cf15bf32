"""Archives old months while messages are sent, kills the archiver, and checks the archives."""

import random
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import psycopg
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from billing.models import ArchivedMonth
from billing.wallet import ledger
from catalogue.ids import first_id_at
from storage.months import old_months
from storage.months.calendar import month_of, next_month
from storage.months.partitions import TABLES, partition
from tests.factories import CompanyFactory
from tests.stack.programs import Program
from tools.chaos.checks import Finding, select
from tools.chaos.fault_injector import FaultInjector
from tools.chaos.stack import Stack
from tools.demo import months, past_transfers
from tools.queries import queries

LIFE = (2.0, 8.0)  # seconds until a run is killed
PAUSE = (0.1, 0.6)  # seconds until the next run
LAST_TRIES = 3
MAX_RUN = 120.0
MONTHS = 3  # archived months
MESSAGES = 12_000  # of each month


def seed(now: datetime) -> date:
    """Creates messages of months that can be archived; returns the month after the last one."""
    month = old_months.newest_to_archive(4 + MONTHS - 1, now)
    months.create_earlier(month)
    company = CompanyFactory.create(name="History")
    ledger.grant(company=company, amount=MONTHS * MESSAGES * 16 + 5, reason="chaos")
    sql = queries(__file__)
    for _number in range(MONTHS):
        after = next_month(month)
        params: dict[str, Any] = {"company": company.pk, "count": MESSAGES}
        params |= {"start": _start_of(month), "end": _start_of(after)}
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql["messages"].text, params)
            cursor.execute(sql["attempts"].text, params)
            past_transfers.book(cursor, sql["transfers"].text, params)
        month = after
    past_transfers.correct_balances([company.pk])
    return month


class Archiver:
    """Repeatedly runs the command and kills it; the last run may finish."""

    def __init__(self, stack: Stack, injector: FaultInjector, before: date, seed: int) -> None:
        self.directory = stack.place / "archive"
        self.directory.mkdir()
        self.before, self.kills = before, 0
        self._dsn = stack.postgres.url
        command = ["-m", "tools.chaos.archiving", f"{before:%Y-%m}", str(self.directory)]
        log = stack.place / "archiver.log"
        environ = stack.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"}
        self._program = Program(command, log=log, environ=environ)
        self._injector = injector
        self._dice = random.Random(f"{seed}:archiver")  # noqa: S311 - reproducible
        self._has_ended = False

    def begin_next_month(self, at: datetime) -> None:
        """Moves the bound between the partitions of this month and the empty ones of the next, so
        that ids of the load are in two months. Yields to the service until it gets its locks.
        """
        with psycopg.connect(self._dsn, autocommit=True) as session:
            session.execute("SET lock_timeout = '100ms'")
            while True:
                try:
                    with session.transaction():
                        _move_borders(session, at)
                except psycopg.errors.LockNotAvailable:
                    time.sleep(0.1)
                else:
                    return

    def start(self) -> None:
        if not self._has_ended:
            self._program.launch()
            self._injector.after(self._dice.uniform(*LIFE), self._end)

    def _end(self) -> None:
        if self._has_ended:
            return
        self.kills += self._program.running.poll() is None
        self._program.kill()
        self._injector.after(self._dice.uniform(*PAUSE), self.start)

    def finish(self) -> bool:
        """Runs the command without kills; returns whether it succeeds."""
        self._has_ended = True
        self._program.kill()
        for _try in range(LAST_TRIES):
            self._program.launch()
            if self._program.wait_stopped(MAX_RUN) == 0:
                return True
        return False

    def findings(self, *, is_finished: bool) -> Iterator[Finding]:
        wrong = [] if is_finished else ["the last run failed: see archiver.log"]
        attached = old_months.attached_months()
        wrong += [f"{month:%Y-%m} is attached" for month in attached if month < self.before]
        archived = ArchivedMonth.objects.exclude(dropped_at=None).count()
        wrong += (
            [] if archived == MONTHS else [f"{archived} months are archived instead of {MONTHS}"]
        )
        # Only messages of the load are left.
        if len(select("SELECT DISTINCT tableoid FROM channels_message")) < 2:
            wrong.append("no message of the load lies in the month that began")
        yield Finding("archives", f"old months leave whole, after {self.kills} kills", wrong)
        damages = []
        try:
            call_command("archive_months", verify=True, directory=self.directory)
        except CommandError as error:
            damages.append(str(error))
        yield Finding("archives proved", "their files have what was sealed", damages)


def _move_borders(session: psycopg.Connection[Any], at: datetime) -> None:
    this = month_of(datetime.now(UTC), UTC)
    after = next_month(this)
    for name in old_months.LOCK_ORDER:
        session.execute(f"LOCK TABLE ONLY {name} IN ACCESS EXCLUSIVE MODE")
    for table in TABLES:
        ends = [_start_of(this), at, _start_of(next_month(after))]
        is_by_time = table.key.endswith("_at")
        bounds = [end.isoformat() if is_by_time else first_id_at(end) for end in ends]
        parts = [partition(table.name, month) for month in (this, after)]
        for part in parts:
            session.execute(f"ALTER TABLE {table.name} DETACH PARTITION {part}")
        for part, since, until in zip(parts, bounds, bounds[1:], strict=False):
            session.execute(
                f"ALTER TABLE {table.name} ATTACH PARTITION {part}"
                f" FOR VALUES FROM ('{since}') TO ('{until}')"
            )


def _start_of(month: date) -> datetime:
    return datetime(month.year, month.month, 1, tzinfo=UTC)
