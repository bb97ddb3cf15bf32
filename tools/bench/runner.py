"""Measures the rows that are a closed loop of calls, interleaved with their floors."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tools.bench.load import Generator, Load, RequestSource
from tools.bench.machine import Meter, Reading
from tools.bench.results import Interval, Row
from tools.stack.seed import Phones
from tools.stack.stack import Account, CannotMeasureError, Setup, Stack

WARM_UP = 1  # seconds, in which connections open and prepare their statements
FIRST_GUESS = 5_000.0  # requests per second, until measured
SPARE = (1.6, 3.2, 6.4)  # times the requests expected from the last rate


@dataclass
class Bench:
    """The stack, connections and options that all rows share."""

    stack: Stack
    accounts: Sequence[Account]
    phones: Phones
    generate: Generator
    seconds: int
    rounds: int
    connections: Sequence[int]


class Call(ABC):
    """A row: the requests to each side, and the check of their answers."""

    name: ClassVar[str]
    title: ClassVar[str]
    sides: ClassVar[tuple[str, ...]] = ("floor", "ours")
    least: ClassVar[float | None] = None
    aim: ClassVar[float | None] = None
    guess: ClassVar[float] = FIRST_GUESS
    # Without a worker, so that only the call uses the machine.
    wanted: ClassVar[Setup] = Setup("bench_calls", waiters=0, floor=True)

    def __init__(self, bench: Bench) -> None:
        self.bench, self.stack = bench, bench.stack

    def prepare(self) -> None:
        """Makes the data that must exist before anything is sent."""
        return

    def connections(self, requested: Sequence[int]) -> Sequence[int]:
        """The requested numbers of connections that this row measures."""
        return requested

    def port(self, side: str) -> int:
        return self.stack.floor if side == "floor" else self.stack.web

    @abstractmethod
    def feed(self, side: str, count: int) -> RequestSource: ...

    @abstractmethod
    def wrong(self, feed: RequestSource, load: Load) -> int:
        """The number of answers without a matching row in the stores."""


def measure_call(bench: Bench, call: Call) -> list[Row]:
    bench.stack.arrange(call.wanted)
    call.prepare()
    return [Series(bench, call, c).measure() for c in call.connections(bench.connections)]


def order(sides: Sequence[str], number: int) -> Sequence[str]:
    """Each side goes first in turn, so that drift affects both alike."""
    return sides if number % 2 == 0 else sides[::-1]


class Series:
    """A call at one number of connections, round by round."""

    def __init__(self, bench: Bench, call: Call, connections: int) -> None:
        self._bench, self._call, self._connections = bench, call, connections
        self._rates = dict.fromkeys(call.sides, call.guess)

    def measure(self) -> Row:
        call = self._call
        row = Row(call.name, call.title, call.sides, self._connections, call.least, call.aim)
        for side in call.sides:
            self._rates[side] = self.interval(side, -1, WARM_UP).rate
        self._bench.stack.tidy()
        for number in range(self._bench.rounds):
            row.intervals += [self.interval(side, number) for side in order(call.sides, number)]
        return row

    def interval(self, side: str, number: int, seconds: int | None = None) -> Interval:
        """One closed loop; repeated with more requests if the prepared ones did not suffice."""
        for spare in SPARE:
            feed, load, reading = self._drive(side, seconds or self._bench.seconds, spare)
            if not load.requests or load.refused == load.requests:
                raise CannotMeasureError(f"{self._call.name}: no good answer from {side}: {load}")
            if not load.starved:
                self._rates[side] = max(self._rates[side], load.rate)
                errors = load.broken + self._call.wrong(feed, load)
                figures = {"p50": load.p50, "p99": load.p99, "seconds": load.seconds}
                return reading.interval(
                    side, number, load.requests, errors=errors, notes=feed.notes, **figures
                )
        raise CannotMeasureError(f"{self._call.name}: {side} outruns the requests made for it")

    def _drive(self, side: str, seconds: int, spare: float) -> tuple[RequestSource, Load, Reading]:
        count = int(self._rates[side] * seconds * spare) + 8 * self._connections
        feed = self._call.feed(side, count)
        self._bench.generate.prepare(feed)
        meter = Meter(self._bench.stack)
        load = self._bench.generate.run(self._call.port(side), self._connections, seconds)
        return feed, load, meter.read()
