"""The machine of the measurement: what it is, and whose CPU an interval took."""

import os
import platform
import subprocess
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from tools.bench.results import Interval
from tools.stack.stack import Stack

TICKS = os.sysconf("SC_CLK_TCK")  # a second
CLIENT = "client"  # the group that generates the load: this process and what it has waited for
PACKAGES = ("Django", "djangorestframework", "granian", "psycopg", "redis", "celery", "orjson")


@dataclass(frozen=True, slots=True)
class Process:
    """CPU in ticks: its own, and that of the children it has waited for."""

    parent: int
    own: int
    buried: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    at: float  # monotonic seconds
    groups: dict[str, int]  # ticks
    busy: int  # ticks of the whole machine
    steal: int  # ticks the host gave to other machines


@dataclass(frozen=True, slots=True)
class CpuTime:
    """Between two snapshots."""

    seconds: float
    groups: dict[str, float]  # CPU seconds
    others: float  # cores used by other processes
    steal: float  # cores


def parse_process(stat: str) -> Process:
    # The name before the last bracket may hold anything, spaces and brackets included.
    fields = stat.rpartition(")")[2].split()
    utime, stime, children_utime, children_stime = map(int, fields[11:15])
    return Process(int(fields[1]), utime + stime, children_utime + children_stime)


def parse_machine(stat: str) -> tuple[int, int]:
    """(busy, stolen) ticks. Interrupts count as busy: processes are charged for those they meet."""
    ticks = stat.splitlines()[0].split()[1:]
    user, nice, system, _idle, _wait, irq, softirq, steal, *_ = map(int, ticks)
    return user + nice + system + irq + softirq, steal


def processes() -> dict[int, Process]:
    processes = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # it may end while we look
                processes[int(entry.name)] = parse_process((entry / "stat").read_text())
    return processes


def ticks_of(root: int, known: Mapping[int, Process]) -> int:
    """CPU of a process and all below it, ended ones included."""
    children = defaultdict(list)
    for pid, process in known.items():
        children[process.parent].append(pid)
    total, left = 0, [root]
    while left:
        pid = left.pop()
        if pid in known:
            total += known[pid].own + known[pid].buried
            left += children[pid]
    return total


def snapshot(roots: Mapping[str, Sequence[int]]) -> Snapshot:
    known = processes()
    me = known[os.getpid()]  # without what runs below us: those are the groups
    groups = {name: sum(ticks_of(pid, known) for pid in pids) for name, pids in roots.items()}
    busy, steal = parse_machine(Path("/proc/stat").read_text())
    return Snapshot(time.monotonic(), groups | {CLIENT: me.own + me.buried}, busy, steal)


def between(before: Snapshot, after: Snapshot) -> CpuTime:
    seconds = after.at - before.at
    groups = {name: after.groups[name] - ticks for name, ticks in before.groups.items()}
    others = after.busy - before.busy - sum(groups.values())
    return CpuTime(
        seconds,
        {name: ticks / TICKS for name, ticks in groups.items()},
        max(0.0, others / TICKS / seconds),
        (after.steal - before.steal) / TICKS / seconds,
    )


def describe(data: Path) -> dict[str, Any]:
    """`data` is where the database is: what a commit costs depends on it."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    named = [line for line in lines if line.startswith("model name")]
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"],  # noqa: S607
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return {
        "machine": {
            "cores": os.cpu_count(),
            "processor": named[0].partition(":")[2].strip() if named else platform.machine(),
            "kernel": platform.release(),
            "memory_mb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
            "fdatasync_us": round(_fdatasync(data)),
            "loop_ms": loop(),
            "load_before": os.getloadavg()[0],
        },
        "versions": {
            "python": platform.python_version(),
            "commit": done.stdout.strip() or "unknown",
            **{name: version(name) for name in PACKAGES},
        },
    }


def words(facts: dict[str, Any]) -> str:
    machine, versions = facts["machine"], facts["versions"]
    return (
        f"{machine['cores']} cores ({machine['processor']}),"
        f" a loop of Python {machine['loop_ms']} ms,"
        f" fdatasync {machine['fdatasync_us']} µs, load {machine['load_before']:.2f} before;"
        f" Python {versions['python']}, commit {versions['commit']}; client: {facts['client']}"
    )


def loop() -> float:
    """ms of a fixed piece of work, the best of five: how fast the processor is just now."""
    times = []
    for _ in range(5):
        started = time.perf_counter()
        sum(number * number for number in range(200_000))
        times.append(time.perf_counter() - started)
    return round(min(times) * 1000, 1)


def _fdatasync(place: Path) -> float:
    """The median of a hundred, in µs: the least a durable commit takes."""
    probe, times = place.parent / "probe", []
    with probe.open("wb", buffering=0) as file:
        for _ in range(100):
            file.seek(0)
            file.write(os.urandom(8192))
            started = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - started)
    probe.unlink()
    return median(times) * 1e6


class Meter:
    """Runs from when it is made; `more` are processes beside those of the stack, by group."""

    def __init__(self, stack: Stack, **more: int) -> None:
        self._stack = stack
        self._roots = stack.roots() | {name: [pid] for name, pid in more.items()}
        self._loop = loop()
        self._synced = stack.synced()
        self._before = snapshot(self._roots)

    def read(self) -> "Reading":
        spent = between(self._before, snapshot(self._roots))
        (times, total), (times_before, total_before) = self._stack.synced(), self._synced
        fsync = (total - total_before) * 1000 / max(1, times - times_before)
        return Reading(spent, fsync, self._loop)


@dataclass(frozen=True, slots=True)
class Reading:
    spent: CpuTime
    fsync: float  # µs, the mean of the write-ahead log's
    loop: float  # ms that `loop` took just before

    def interval(
        self,
        side: str,
        number: int,
        requests: int,
        *,
        p50: float,
        p99: float,
        errors: int,
        seconds: float | None = None,
        notes: dict[str, Any] | None = None,
    ) -> Interval:
        """`seconds` where the load itself tells how long it took."""
        lasted, spent = seconds or self.spent.seconds, self.spent
        return Interval(
            *(side, number, requests, lasted, requests / lasted, p50, p99, errors),
            {name: cpu * 1e6 / max(1, requests) for name, cpu in spent.groups.items()},
            *(spent.others, spent.steal, self.fsync, self.loop, notes or {}),
        )
