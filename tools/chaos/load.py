"""Runs the load and the planned faults, from the first request until everything is settled."""

import logging
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING

import redis
from django.core.management import call_command

from tools.chaos.checks import rows
from tools.chaos.client import Backend, Journal, PhoneUsers
from tools.chaos.fault_injector import DatabaseProbe, FaultInjector
from tools.chaos.payments import CreditKiller, Payers
from tools.chaos.plan import Options, Plan, Speed
from tools.chaos.stack import Stack
from tools.stack.clients import Arrival, Client, LogFollower, Scheduler
from tools.stack.stack import Account, drop_connections, set_up_django

if TYPE_CHECKING:
    from tools.chaos.months import Archiver

THREADS = 96
PROGRESS = 5.0  # seconds between lines of progress
VENDORS_TAKE = 60  # ms to answer a send, so that some calls are always in progress
CREDITED_WITHIN = 90.0  # seconds after the last fault
RECOVERY = 240.0  # seconds from the last request to the last response, on a busy machine
LOOK_EVERY = 0.2
RECEIPT_TIMEOUT = 12.0  # seconds for vendors to send their receipts
ENDED_WITHIN = 5.0  # seconds after its deadline in which a message must end
POLL_ROUNDS = 2
POLL_ROUND = 3.5
PENDING_RECEIPTS = "SELECT count(*) FROM messages WHERE pending <> ''"


class RunFailedError(Exception):
    """The run itself failed, so it proves nothing about the service."""


def prepare(
    stack: Stack, tokens: Sequence[int], speed: Speed, *, is_smart: bool = False
) -> list[Account]:
    """Sets up Django, the schema, and a company for each amount of tokens."""
    set_up_django(stack.environ)
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # the injected faults cut answers
    from tools.chaos import companies  # noqa: PLC0415 - models need Django set up

    call_command("migrate", verbosity=0, interactive=False)
    accounts = companies.create_companies(tokens, speed, is_smart=is_smart)
    drop_connections()
    return accounts


class Traffic:
    """Companies that send, and the programs' supervisor; a journal records every call."""

    def __init__(
        self, stack: Stack, accounts: Sequence[Account], *, threads: int = THREADS, seed: int = 0
    ) -> None:
        self.stack = stack
        self.database = DatabaseProbe(stack.postgres.url)
        self.injector = FaultInjector(stack, self.database)
        self.journal, self.scheduler = Journal(stack.journal), Scheduler(threads)
        client = Client(stack.api, (2.0, stack.speed.send_wait + 4.0))
        self.backend = Backend(
            client, accounts, self.journal, self.scheduler, carrier=stack.carrier, seed=seed
        )
        self._followers: list[LogFollower] = []

    def __enter__(self) -> "Traffic":
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.backend.given_up.set()
        for follower in self._followers:
            follower.close()
        self.scheduler.close()
        self.database.close()
        self.journal.close()

    def follow(self, arrive: Callable[[Arrival], None]) -> None:
        """Calls `arrive` for every message on a phone from now on, on a separate thread."""
        follower = LogFollower(self.stack.simulator_log, arrive)
        follower.start()
        self._followers.append(follower)

    def settle(self, answered_within: float) -> None:
        """Waits until everything is answered and final."""
        self.injector.run(lambda: self.scheduler.is_done, answered_within)
        self.hurry()

    def wait(self) -> None:
        """Waits until the last deadline is over: late repeats may still create messages."""
        self._until_none("in time", 2 * self.stack.speed.hold_deadline)

    def hurry(self) -> None:
        """Waits for receipts and polls, then ages the deadlines of messages that are still open."""
        self._until(lambda: rows(self.stack.simulator_log, PENDING_RECEIPTS) == [(0,)])
        self._until_none("under way")
        for _ in range(POLL_ROUNDS):
            self.database.change("age polls")
            self._until_none("polled", POLL_ROUND)
        self.database.change("age leases")
        self.database.change("age deadlines")
        self._until_none("open", ENDED_WITHIN)

    def _until_none(self, query: str, seconds: float = RECEIPT_TIMEOUT) -> None:
        self._until(lambda: self.database.number(query) == 0, seconds)

    def _until(self, condition: Callable[[], bool], seconds: float = RECEIPT_TIMEOUT) -> None:
        """Polls until the condition holds."""
        looked = 0.0

        def look() -> bool:
            nonlocal looked
            if time.monotonic() < looked + LOOK_EVERY:
                return False
            looked = time.monotonic()
            return condition()

        self.injector.run(look, seconds)


class Load(Traffic):
    """The orders, the people and the planned faults, until no message is open."""

    def __init__(
        self,
        options: Options,
        plan: Plan,
        stack: Stack,
        accounts: Sequence[Account],
        *,
        archive_before: date | None,
        payer: Account | None,
        say: Callable[[str], None],
    ) -> None:
        super().__init__(stack, accounts, seed=options.seed)
        self.options, self.planned, self.say = options, plan, say
        self.flushes, self._redis = 0, redis.Redis.from_url(stack.redis.url, socket_timeout=1)
        self._flushes_until = math.inf
        self.begin = time.monotonic() + 0.2
        self.archiver: Archiver | None = None
        self.payers: Payers | None = None
        if archive_before:
            from tools.chaos import months  # noqa: PLC0415 - models need Django set up

            self.archiver = months.Archiver(stack, self.injector, archive_before, options.seed)
        if payer:
            self.payers = Payers(self.backend, payer)
            self.credit_killer = CreditKiller(stack, self.injector, self.payers)

    def run(self) -> None:
        with self:
            self.follow(PhoneUsers(self.backend, self.planned.orders, self.stack.carrier).arrive)
            self.begin = time.monotonic() + 0.2
            self._schedule()
            self._until_settled()
            self.injector.count_deadlocks()
        if self.scheduler.errors:
            raise RunFailedError("a client's thread failed") from self.scheduler.errors[0]

    def _schedule(self) -> None:
        self.backend.slow_vendors(VENDORS_TAKE)
        self.backend.schedule(self.planned.orders, self.begin)
        self.injector.plan(self.begin, self.planned.planned_faults)
        if self.payers:
            self.payers.schedule(self.planned.payments, self.begin)
            self.credit_killer.plan(self.begin, self.planned.payments)
        if self.archiver:
            middle = timedelta(seconds=self.planned.seconds / 2)
            self.archiver.begin_next_month(datetime.now(UTC) + middle)
            self.injector.at(self.begin, self.archiver.start)
        retire = partial(self.injector.retire, self.stack.second_worker)
        self.injector.at(self.begin + self.planned.second_worker_until, retire)
        self.injector.after(PROGRESS, self._print_progress)
        if self.options.short:
            # Empties Redis instead of waiting a minute for its entries to expire.
            self.injector.at(self.begin + self.planned.seconds + 2, self._empty)
        if self.options.flush:
            self.injector.at(self.begin, self._flush)

    def _until_settled(self) -> None:
        def is_loaded() -> bool:
            return self.scheduler.is_done and self.injector.is_quiet

        if not self.injector.run(is_loaded, self.planned.seconds + RECOVERY):
            self.say("Not everything was answered in time.")
        self._say("the load is over")
        self._flushes_until = time.monotonic()
        if self.payers:
            if self.options.short:
                self.database.change("age statement")
            self._until_none(self.payers.open_query(), CREDITED_WITHIN)
            self.payers.notify_again()
            self._say(f"{len(self.payers.paid)} top-ups are paid")
        if self.options.short:
            self.hurry()
        else:
            self.wait()
        self._say(f"{self.database.number('open') or 0} messages are open")

    def _flush(self) -> None:
        """Empties Redis every second."""
        if time.monotonic() < self._flushes_until:
            self._empty()
            self.injector.after(1.0, self._flush)

    def _empty(self) -> None:
        with suppress(redis.RedisError):  # it has just been killed
            self.flushes += bool(self._redis.flushall())

    def _print_progress(self) -> None:
        answered = f"{self.backend.answered} of {self.planned.sends} answered"
        kills = f"{self.injector.kills.total()} of {self.options.kills} kills"
        self._say(f"{answered}, {kills}, {self.database.number('open')} open")
        self.injector.after(PROGRESS, self._print_progress)

    def _say(self, text: str) -> None:
        self.say(f"{time.monotonic() - self.begin:4.0f} s  {text}")
