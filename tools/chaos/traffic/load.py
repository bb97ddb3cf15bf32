"""Runs the load and the planned faults, from the first request until all is settled."""

import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial

import redis

from tools.chaos.database import OPEN, DatabaseProbe
from tools.chaos.faults.archiver import Archiver, begin_next_month
from tools.chaos.faults.credit_killer import CreditKiller
from tools.chaos.faults.fault_injector import FaultInjector
from tools.chaos.plan import Options, Plan
from tools.chaos.stack import Stack
from tools.chaos.traffic.client import Account, Backend, Client
from tools.chaos.traffic.drain import Drain
from tools.chaos.traffic.journal import Journal
from tools.chaos.traffic.log_follower import LogFollower
from tools.chaos.traffic.payers import STATEMENT_AGED, Payers
from tools.chaos.traffic.phone_users import PhoneUsers
from tools.chaos.traffic.scheduler import Scheduler

THREADS = 96
PROGRESS = 5.0  # seconds between two lines
VENDORS_TAKE = 60  # ms to answer a send, so some calls are always in progress
CREDITED_WITHIN = 90.0  # seconds after the last fault
RECOVERY = 240.0  # seconds from the last request to the last response, on a busy machine


class RunFailedError(Exception):
    """The run itself failed, so it says nothing about the service."""


class Load:
    """The orders, the people and the planned_faults, until nothing of it is open."""

    def __init__(
        self,
        options: Options,
        plan: Plan,
        stack: Stack,
        *,
        accounts: Sequence[Account],
        archive_before: date | None = None,
        payer: Account | None = None,
        say: Callable[[str], None],
    ) -> None:
        self.options, self.plan, self.stack, self.say = options, plan, stack, say
        self.journal = Journal(stack.place / "journal.sqlite3")
        self.database = DatabaseProbe(stack.postgres.url)
        self.injector = FaultInjector(stack, self.database)
        self.scheduler = Scheduler(THREADS)
        self.backend = Backend(
            Client(stack.api, (2.0, stack.speed.send_wait + 4.0)),
            accounts,
            self.journal,
            self.scheduler,
            carrier=stack.carrier,
            seed=options.seed,
        )
        people = PhoneUsers(self.backend, plan.orders, stack.carrier)
        self.follower = LogFollower(stack.simulator_log, people.arrive)
        self.drain = Drain(stack.simulator_log, self.database, self.injector)
        self.flusher = Flusher(stack.redis.url)
        self.begin = 0.0
        self.archiver: Archiver | None = None
        if archive_before:
            self.archiver = Archiver(stack, self.injector, before=archive_before, seed=options.seed)

        self.payers: Payers | None = None
        if payer:
            self.payers = Payers(self.backend, payer)
            self.credit_killer = CreditKiller(stack, self.injector, self.payers)

    def run(self) -> None:
        self.follower.start()
        self.begin = time.monotonic() + 0.2
        if self.options.flush:
            self.flusher.start()
        self._schedule()
        try:
            self._until_settled()
            self.injector.count_deadlocks()
        finally:
            self.flusher.close()
            self.backend.given_up.set()
            self.follower.close()
            self.scheduler.close()
            self.database.close()
            self.journal.close()
        if self.scheduler.errors:
            raise RunFailedError("a client's thread failed") from self.scheduler.errors[0]

    def _schedule(self) -> None:
        self.backend.slow_vendors(VENDORS_TAKE)
        self.backend.schedule(self.plan.orders, self.begin)
        self.injector.plan(self.begin, self.plan.planned_faults)
        if self.payers:
            self.payers.schedule(self.plan.payments, self.begin)
            self.credit_killer.plan(self.begin, self.plan.payments)
        if self.archiver:
            half = timedelta(seconds=self.plan.seconds / 2)
            begin_next_month(self.stack.postgres.url, datetime.now(UTC) + half)
            self.injector.at(self.begin, self.archiver.start)
        retire = partial(self.injector.retire, self.stack.second_worker)
        self.injector.at(self.begin + self.plan.second_worker_until, retire)
        self.injector.after(PROGRESS, self._tell)
        if self.options.short:
            # What would be remembered for a minute is not waited for.
            self.injector.at(self.begin + self.plan.seconds + 2, self.flusher.empty)

    def _until_settled(self) -> None:
        loaded = self.plan.seconds + RECOVERY
        if not self.injector.run(self._is_loaded, loaded):
            self.say("Not everything was answered in time.")
        self.say(f"{self._since():4.0f} s  the load is over")
        self.flusher.close()
        if self.payers:
            self._until_credited(self.payers)
        if self.options.short:
            self.drain.hurry()
        else:
            self.drain.wait(self.stack.speed.hold_deadline)
        self.say(f"{self._since():4.0f} s  {self.database.number(OPEN) or 0} messages are open")

    def _until_credited(self, payers: Payers) -> None:
        """Whoever was killed while reading the statement keeps others from it for a minute."""
        if self.options.short:
            self.database.change(STATEMENT_AGED)
        self.injector.run(lambda: self.database.number(payers.open_query()) == 0, CREDITED_WITHIN)
        payers.notify_again()
        self.say(f"{self._since():4.0f} s  {len(payers.paid)} top-ups are paid")

    def _is_loaded(self) -> bool:
        return self.scheduler.is_done and self.injector.is_quiet

    def _tell(self) -> None:
        kills = sum(self.injector.kills.values())
        self.say(
            f"{self._since():4.0f} s  {self.backend.answered} of {self.plan.sends} answered,"
            f" {kills} of {self.options.kills} kills, {self.database.number(OPEN)} open"
        )
        self.injector.after(PROGRESS, self._tell)

    def _since(self) -> float:
        return time.monotonic() - self.begin


class Flusher:
    """Empties Redis every second."""

    def __init__(self, url: str) -> None:
        self.times = 0
        self._redis = redis.Redis.from_url(url, socket_timeout=1)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="flusher", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def empty(self) -> bool:
        try:
            return bool(self._redis.flushall())
        except redis.RedisError:
            return False  # it has just been killed

    def close(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(1.0):
            self.times += self.empty()
