"""Measures an interval: CPU by group of processes, disk, and CPU used by others."""

from dataclasses import dataclass
from typing import Any

from tools.bench.report import machine, proc
from tools.bench.report.results import Interval
from tools.stack.stack import Stack


@dataclass(frozen=True, slots=True)
class Reading:
    spent: proc.CpuTime
    fsync: float  # µs, the mean of the write-ahead log's
    loop: float  # ms that `machine.loop` took just before

    def interval(
        self,
        side: str,
        number: int,
        *,
        requests: int,
        p50: float,
        p99: float,
        errors: int,
        seconds: float | None = None,
        notes: dict[str, Any] | None = None,
    ) -> Interval:
        """`seconds` where the load itself tells how long it took."""
        lasted = seconds or self.spent.seconds
        return Interval(
            side=side,
            round=number,
            requests=requests,
            seconds=lasted,
            rate=requests / lasted,
            p50=p50,
            p99=p99,
            errors=errors,
            cpu={name: cpu * 1e6 / max(1, requests) for name, cpu in self.spent.groups.items()},
            others=self.spent.others,
            steal=self.spent.steal,
            fsync=self.fsync,
            loop=self.loop,
            notes=notes or {},
        )


class Meter:
    """Runs from when it is made; `more` are processes beside those of the stack, by group."""

    def __init__(self, stack: Stack, **more: int) -> None:
        self._stack = stack
        self._roots = stack.roots() | {name: [pid] for name, pid in more.items()}
        self._loop = machine.loop()
        self._synced = stack.synced()
        self._before = proc.snapshot(self._roots)

    def read(self) -> Reading:
        spent = proc.between(self._before, proc.snapshot(self._roots))
        (times, total), (times_before, total_before) = self._stack.synced(), self._synced
        fsync = (total - total_before) * 1000 / max(1, times - times_before)
        return Reading(spent, fsync, self._loop)
