"""The windows of a profile: the same load undisturbed, sampled, and with statements logged."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg
import redis

from otp import codes
from tools.bench.load import answered, call
from tools.bench.machine import Meter, Reading
from tools.bench.profile import python_stacks, statements
from tools.bench.profile.python_stacks import SAMPLE, Control
from tools.bench.profile.statements import Costs, StatementNames
from tools.queries import queries
from tools.stack.seed import Phones
from tools.stack.stack import Account, CannotMeasureError, Setup, Stack, until

FLUSHED = 11.0  # seconds after which an idle backend has flushed its statistics
_DATABASE = queries(__file__)["counts"].text
_NAMES = [*("commits", "rows inserted", "rows updated", "of them HOT", "rows deleted")]
_NAMES += ["WAL bytes", "WAL records", "full pages in it", "WAL flushes"]
Counts = dict[str, float]


def counted(store: psycopg.Connection, server: redis.Redis) -> Counts:
    row = store.execute(_DATABASE).fetchone() or ()
    counts = {name: float(value or 0) for name, value in zip(_NAMES, row, strict=True)}
    stats: Any = server.info("stats")
    commands: Any = server.info("commandstats")
    counts["Redis round trips"] = stats["total_reads_processed"]
    counts["Redis commands"] = stats["total_commands_processed"]
    return counts | {
        f"Redis {name.removeprefix('cmdstat_').upper()}": figures["calls"]
        for name, figures in commands.items()
    }


def summed(counts: Counts, other: Counts, times: float = 1.0) -> Counts:
    """Adds `other`; subtracts it if `times` is −1."""
    return {name: counts.get(name, 0.0) + times * other.get(name, 0.0) for name in counts | other}


_OPEN = "SELECT count(*) FROM channels_openmessage"
_CODES = """
SELECT phone, company_id, id, key_id, length FROM otp_verification
WHERE phone BETWEEN %s AND %s ORDER BY phone"""
_UNSETTLED = """
SELECT count(*) FROM otp_verification
WHERE phone BETWEEN %s AND %s AND (verified_at IS NULL OR settled_at IS NULL)"""
_CHARGED = """
SELECT count(*) FROM channels_message m JOIN billing_transfer t
  ON t.message_id = m.id AND t.kind = 'capture' WHERE m.phone BETWEEN %s AND %s"""


class MessageLoad:
    def __init__(self, stack: Stack, accounts: Sequence[Account], phones: Phones) -> None:
        self._stack, self._accounts, self._phones = stack, accounts, phones
        self.polls = 0  # our own transactions
        self._by_company = {row.company_id: row for row in accounts}

    def run(self, count: int, connections: int) -> list[float]:
        """Returns the seconds until each send was answered, once all are charged and settled."""
        phones = self._phones.take(count)
        seconds = answered(self._stack.web, self.sends(phones), connections)
        ends = [phones[0], phones[-1]]
        self._until_none(_OPEN, [], "the delivery of all messages")
        answered(self._stack.web, self._verifies(ends), connections)
        self._until_none(_UNSETTLED, ends, "the settlement of all codes")
        charged = self._count(_CHARGED, ends)
        if charged != count:
            raise CannotMeasureError(f"{charged} of {count} messages were charged")
        return seconds

    def sends(self, phones: Sequence[str]) -> list[bytes]:
        accounts = self._accounts
        return [
            self._call(
                "otp/send", accounts[number % len(accounts)], phone=phone, channel="whatsapp"
            )
            for number, phone in enumerate(phones)
        ]

    def _verifies(self, ends: Sequence[str]) -> list[bytes]:
        rows = self._stack.store.execute(_CODES, ends)
        return [
            self._call(
                "otp/verify",
                self._by_company[company],
                phone=phone,
                code=codes.derive(number, key_id=key_id, length=length),
            )
            for phone, company, number, key_id, length in rows
        ]

    def _call(self, path: str, account: Account, **fields: str) -> bytes:
        return call(path, self._stack.web, account.key, **fields)

    def _until_none(self, query: str, ends: Sequence[str], event: str) -> None:
        until(lambda: not self._count(query, ends), seconds=60, event=event, every=0.05)

    def _count(self, query: str, ends: Sequence[str]) -> int:
        self.polls += 1
        row = self._stack.store.execute(query, ends).fetchone()
        return int(row[0]) if row else 0


TRIES = 3  # times the number of rounds, while processes are sampled


@dataclass
class Window:
    """The costs of its rounds together."""

    messages: int = 0
    seconds: float = 0.0
    spent: dict[str, float] = field(default_factory=dict)  # CPU seconds, by process
    rounds: list[dict[str, float]] = field(default_factory=list)  # µs a message, by process
    others: list[float] = field(default_factory=list)  # cores used by other processes

    def us(self, name: str) -> float:
        """CPU of a message in this process."""
        return self.spent.get(name, 0.0) * 1e6 / self.messages

    def add(self, read: Reading, count: int) -> None:
        self.messages += count
        self.seconds += read.seconds
        self.others.append(read.others)
        self.rounds.append({name: cpu * 1e6 / count for name, cpu in read.spent.items()})
        for name, cpu in read.spent.items():
            self.spent[name] = self.spent.get(name, 0.0) + cpu


@dataclass
class Profile:
    plain: Window = field(default_factory=Window)
    sampled: Window = field(default_factory=Window)
    logged: Window = field(default_factory=Window)
    answers: list[float] = field(default_factory=list)  # seconds, of the plain window
    python: dict[str, Counter[tuple[str, str]]] = field(default_factory=dict)
    lines: dict[str, Counter[tuple[str, str]]] = field(default_factory=dict)
    statements: dict[str, Costs] = field(default_factory=dict)
    counts: Counts = field(default_factory=dict)  # of one message


class Profiler:
    def __init__(
        self,
        stack: Stack,
        setup: Setup,
        control: Control,
        load: MessageLoad,
        *,
        messages: int,
        connections: int,
        say: Callable[[str], None],
    ) -> None:
        self._stack, self._setup, self._control, self._load = stack, setup, control, load
        self._messages, self._connections, self._say = messages, connections, say
        self._names: dict[int, str] = {}
        self._beside: Counts = {}  # counts caused by the profiler itself
        self.profile = Profile()

    def run(self, rounds: int) -> Profile:
        self._start()
        self._plain(rounds)
        self._sampled(rounds)
        self._logged(rounds)
        return self.profile

    def _plain(self, rounds: int) -> None:
        time.sleep(FLUSHED)
        before, polls = self._counts(), self._load.polls
        for _ in range(rounds):
            self._vacuum()
            with self._window(self.profile.plain):
                self.profile.answers += self._load.run(self._messages, self._connections)
        time.sleep(FLUSHED)
        beside = summed(self._beside, {"commits": float(self._load.polls - polls)})
        after = self._counts()
        time.sleep(FLUSHED)
        during = summed(summed(after, before, -1), beside, -1)
        idle = summed(self._counts(), after, -1)
        lasted, count = self.profile.plain.seconds + FLUSHED, self.profile.plain.messages
        # Minus the counts of an idle service in the same time.
        self.profile.counts = {
            name: value / count for name, value in summed(during, idle, -lasted / FLUSHED).items()
        }

    def _sampled(self, rounds: int) -> None:
        """Repeats a round in which a process crashes: the sampler may read a freed frame."""
        profile, remaining = self.profile, rounds
        self._start(SAMPLE)
        for _ in range(TRIES * rounds):
            if remaining:
                self._vacuum()
                before = self._control.positions()
                try:
                    with self._window(profile.sampled):
                        self._load.run(self._messages, self._connections)
                except OSError as error:
                    self._say(f"a process ended: the round is repeated ({error})")
                    continue
                self._control.keep(before)
                remaining -= 1
        if remaining:
            raise CannotMeasureError("processes kept crashing while they were sampled")
        for name, stacks in self._control.stacks(self._names).items():
            profile.python[name] = python_stacks.counted(stacks)
            profile.lines[name] = python_stacks.hottest(stacks)
        self._start()

    def _start(self, mode: str = "") -> None:
        """Restarts the programs in this mode."""
        self._stack.arrange(replace(self._setup, environ=(("KVITOK_MODE", mode),)))
        self._load.run(self._messages, self._connections)  # warms up

    def _logged(self, rounds: int) -> None:
        log, names = self._stack.postgres.log, StatementNames.of_service()
        start = log.stat().st_size
        statements.switch(self._stack.store, on=True)
        time.sleep(0.5)
        for _ in range(rounds):
            self._vacuum()
            with self._window(self.profile.logged):
                self._load.run(self._messages, self._connections)
        statements.switch(self._stack.store, on=False)
        with log.open("rb") as file:
            file.seek(start)
            text = file.read().decode("utf-8", errors="replace")
        entries = statements.parse(text)
        self.profile.statements = statements.account(entries, self._names, names)

    def _vacuum(self) -> None:
        """Vacuums the grown tables, since autovacuum is off; not counted for messages."""
        store, before = self._stack.store, self._counts()
        store.execute("VACUUM (ANALYZE)")
        store.execute("SELECT pg_stat_force_next_flush()")
        self._beside = summed(self._beside, summed(self._counts(), before, -1))

    def _counts(self) -> Counts:
        return counted(self._stack.store, self._stack.redis)

    @contextmanager
    def _window(self, window: Window) -> Iterator[None]:
        meter = Meter(self._stack)
        yield
        read = meter.read()
        self._names |= read.names
        window.add(read, self._messages)
        total = sum(read.spent.values())
        self._say(f"{total:.2f} s of CPU in {read.seconds:.1f} s, others {read.others:.2f} cores")
