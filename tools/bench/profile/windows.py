"""The windows of a profile: the same load undisturbed, sampled, and with statements logged."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tools.bench import machine
from tools.bench.profile import processes, python_stacks, statements
from tools.bench.profile.message_load import MessageLoad
from tools.bench.profile.processes import FLUSHED, NOTHING, Counts, Spent
from tools.bench.profile.python_stacks import Control
from tools.bench.profile.statements import Costs, StatementNames
from tools.stack.programs import CannotMeasureError
from tools.stack.stack import Stack, until

TRIES = 3  # times the rounds wanted, while processes are sampled


@dataclass
class Window:
    """What its rounds took together."""

    messages: int = 0
    seconds: float = 0.0
    spent: dict[str, Spent] = field(default_factory=dict)  # by process
    rounds: list[dict[str, float]] = field(default_factory=list)  # µs a message, by process
    others: list[float] = field(default_factory=list)  # cores taken by what is none of ours

    def us(self, name: str) -> float:
        """CPU of a message in this process."""
        return self.spent.get(name, NOTHING).seconds * 1e6 / self.messages

    def add(self, spent: dict[str, Spent], seconds: float, many: int, others: float) -> None:
        self.messages += many
        self.seconds += seconds
        self.others.append(others)
        self.rounds.append({name: one.seconds * 1e6 / many for name, one in spent.items()})
        for name, one in spent.items():
            self.spent[name] = self.spent.get(name, NOTHING) + one


@dataclass
class Profile:
    plain: Window = field(default_factory=Window)
    sampled: Window = field(default_factory=Window)
    logged: Window = field(default_factory=Window)
    answers: list[float] = field(default_factory=list)  # seconds, of the plain window
    python: dict[str, Counter[tuple[str, str]]] = field(default_factory=dict)
    lines: dict[str, Counter[tuple[str, str]]] = field(default_factory=dict)
    collector: dict[str, float] = field(default_factory=dict)  # seconds, by process
    statements: dict[str, Costs] = field(default_factory=dict)
    counts: Counts = field(default_factory=dict)  # of one message
    idle: dict[str, float] = field(default_factory=dict)  # ms of CPU a second, by process
    vacuums: list[float] = field(default_factory=list)  # µs a message, each of a round


class Profiler:
    def __init__(
        self,
        stack: Stack,
        sampler: Control,
        load: MessageLoad,
        *,
        messages: int,
        connections: int,
        say: Callable[[str], None],
    ) -> None:
        self._stack, self._control, self._load = stack, sampler, load
        self._messages, self._connections, self._say = messages, connections, say
        self._names: dict[int, str] = {}
        self._beside: Counts = {}  # counted for what is not the service's
        self.profile = Profile()

    def run(self, rounds: int) -> Profile:
        self._load.run(self._messages, self._connections)  # warms up
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
        beside = processes.summed(self._beside, {"commits": float(self._load.polls - polls)})
        after = self._counts()
        self.profile.idle = self._idle()
        during = processes.summed(processes.summed(after, before, -1), beside, -1)
        idle = processes.summed(self._counts(), after, -1)
        lasted, many = self.profile.plain.seconds + FLUSHED, self.profile.plain.messages
        # Without what the service does in the same time when nothing is sent.
        self.profile.counts = {
            name: value / many
            for name, value in processes.summed(during, idle, -lasted / FLUSHED).items()
        }

    def _idle(self) -> dict[str, float]:
        window = Window()
        with self._window(window):
            time.sleep(FLUSHED)
        return {name: one.seconds * 1000 / window.seconds for name, one in window.spent.items()}

    def _sampled(self, rounds: int) -> None:
        profile, left = self.profile, rounds
        for _ in range(TRIES * rounds):
            left -= left > 0 and self._sampled_round()
        if left:
            raise CannotMeasureError("processes ended again and again while they were sampled")
        for name, stacks in self._control.stacks(self._names).items():
            profile.python[name] = python_stacks.counted(stacks)
            profile.lines[name] = python_stacks.hottest(stacks)
        profile.collector = self._control.collector_seconds(self._names)

    def _sampled_round(self) -> bool:
        """False if a process crashed: the handler may read a frame that is just being freed."""
        self._vacuum()
        processes = len(self._control.pids())
        self._control.command("sample", str(python_stacks.INTERVAL))
        before = self._control.positions()
        try:
            with self._window(self.profile.sampled):
                self._load.run(self._messages, self._connections)
        except OSError as error:
            self._say(f"a process ended while it was sampled: the round is repeated ({error})")
            until(lambda: len(self._control.pids()) == processes, seconds=30, what="its restart")
            return False
        finally:
            self._control.command("rest")
        self._control.keep(before)
        return True

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
        """As autovacuum, which is off, would have done: the tables have grown. Counted apart."""
        store, before = self._stack.store, self._counts()
        pid = store.info.backend_pid
        began = processes.cpu_seconds(pid)
        store.execute("VACUUM (ANALYZE)")
        spent = processes.cpu_seconds(pid) - began
        store.execute("SELECT pg_stat_force_next_flush()")
        self.profile.vacuums.append(spent * 1e6 / self._messages)
        spent_here = processes.summed(self._counts(), before, -1)
        self._beside = processes.summed(self._beside, spent_here)

    def _counts(self) -> Counts:
        return processes.read(self._stack.store, self._stack.redis)

    @contextmanager
    def _window(self, window: Window) -> Iterator[None]:
        before_names = processes.members(self._stack)
        before = processes.reading(before_names)
        began = machine.snapshot(self._stack.roots())
        yield
        used = machine.between(began, machine.snapshot(self._stack.roots()))
        names = before_names | processes.members(self._stack)
        self._names |= names
        spent = processes.between(before, processes.reading(names), names)
        window.add(spent, used.seconds, self._messages, used.others)
        total = sum(one.seconds for one in spent.values())
        self._say(f"{total:.2f} s of CPU in {used.seconds:.1f} s, others {used.others:.2f} cores")
