"""The machine: its description, and the CPU that each process used in an interval."""

import os
import platform
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from tests.stack.programs import children
from tools.bench.results import Interval
from tools.stack.stack import Stack

TICKS = os.sysconf("SC_CLK_TCK")  # a second
CLIENT = "client"  # the load generator: this process and its finished children
WORKER = {"beat": "worker"}  # counted as one in the bench
PACKAGES = ("Django", "granian", "psycopg", "redis", "celery", "orjson")
_BACKENDS = "SELECT pid, backend_type, application_name FROM pg_stat_activity"


def cpu_seconds(pid: int) -> float:
    """CPU time of all threads of a process, ended ones included, to the nanosecond."""
    seconds = time.clock_gettime((~pid << 3) | 2)  # CPUCLOCK_SCHED, see clock_getcpuclockid(3)
    if pid == os.getpid():
        seconds += sum(os.times()[2:4])
    return seconds


def reading(pids: Iterable[int]) -> dict[int, float]:
    seconds = {}
    for pid in pids:
        with suppress(OSError):  # it may have ended
            seconds[pid] = cpu_seconds(pid)
    return seconds


def between(
    before: Mapping[int, float], after: Mapping[int, float], names: Mapping[int, str]
) -> dict[str, float]:
    """CPU seconds by name; all of a new process' time counts."""
    totals = defaultdict[str, float](float)
    for pid, seconds in after.items():
        totals[names[pid]] += seconds - before.get(pid, 0.0)
    return dict(totals)


def members(stack: Stack) -> dict[int, str]:
    """Names of all processes: the service's, the stores', the simulator's and the load's."""
    names = {os.getpid(): CLIENT, stack.redis_server.pid: "redis"}
    for program, root in stack.programs().items():
        below = sorted(children(root))
        names[root] = f"{program}, parent" if program == "web" else program
        names |= dict.fromkeys(below, names[root])
        if program == "web":
            workers = [pid for pid in below if _threads(pid) > 1]
            names |= {pid: f"web {number}" for number, pid in enumerate(workers, 1)}
    root = stack.postgres.pid
    names |= dict.fromkeys([root, *children(root)], "postgres, other")
    for pid, kind, application in stack.store.execute(_BACKENDS):
        if kind == "client backend":
            names[pid] = f"postgres for {application}" if application else "postgres for the bench"
        elif kind in {"walwriter", "checkpointer"} or kind.startswith("autovacuum"):
            names[pid] = f"postgres, {kind}"
    return names


def _threads(pid: int) -> int:
    with suppress(OSError):
        return len(list(Path(f"/proc/{pid}/task").iterdir()))
    return 0


def _machine_ticks() -> tuple[int, int]:
    """Busy and stolen ticks. Interrupts count as busy: the kernel charges them to processes."""
    ticks = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _idle, _wait, irq, softirq, steal, *_ = map(int, ticks)
    return user + nice + system + irq + softirq, steal


def describe(data: Path) -> dict[str, Any]:
    """Describes the machine; `data` is the database's directory, whose disk is measured."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    models = [line for line in lines if line.startswith("model name")]
    process = subprocess.run(
        ["git", "describe", "--always", "--dirty"],  # noqa: S607
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return {
        "machine": {
            "cores": os.cpu_count(),
            "processor": models[0].partition(":")[2].strip() if models else platform.machine(),
            "kernel": platform.release(),
            "memory_mb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
            "fdatasync_us": round(_fdatasync(data)),
            "loop_ms": loop(),
            "load_before": os.getloadavg()[0],
        },
        "versions": {
            "python": platform.python_version(),
            "commit": process.stdout.strip() or "unknown",
            **{name: version(name) for name in PACKAGES},
        },
    }


def description(facts: dict[str, Any]) -> str:
    machine, versions = facts["machine"], facts["versions"]
    return (
        f"{machine['cores']} cores ({machine['processor']}),"
        f" a loop of Python {machine['loop_ms']} ms,"
        f" fdatasync {machine['fdatasync_us']} µs, load {machine['load_before']:.2f} before;"
        f" Python {versions['python']}, commit {versions['commit']}; client: {facts['client']}"
    )


def loop() -> float:
    """Milliseconds of a fixed piece of work, the best of five: the processor's current speed."""
    times = []
    for _ in range(5):
        started = time.perf_counter()
        sum(number * number for number in range(200_000))
        times.append(time.perf_counter() - started)
    return round(min(times) * 1000, 1)


def _fdatasync(directory: Path) -> float:
    """The median of a hundred, in µs: the minimum of a durable commit."""
    probe, times = directory.parent / "probe", []
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
    """Measures from its creation until `read`."""

    def __init__(self, stack: Stack) -> None:
        self._stack, self._loop, self._synced = stack, loop(), stack.synced()
        self._names = members(stack)
        self._at, self._ticks = time.monotonic(), _machine_ticks()
        self._before = reading(self._names)

    def read(self) -> "Reading":
        names = self._names | members(self._stack)
        spent = between(self._before, reading(names), names)
        seconds = time.monotonic() - self._at
        busy, steal = (
            (now - before) / TICKS / seconds
            for now, before in zip(_machine_ticks(), self._ticks, strict=True)
        )
        others = max(0.0, busy - sum(spent.values()) / seconds)
        (times, total), (times_before, total_before) = self._stack.synced(), self._synced
        fsync = (total - total_before) * 1000 / max(1, times - times_before)
        return Reading(seconds, spent, others, steal, fsync, self._loop, names)


@dataclass(frozen=True, slots=True)
class Reading:
    seconds: float
    spent: dict[str, float]  # CPU seconds, by process
    others: float  # cores that other processes used
    steal: float  # cores that the host gave to other machines
    fsync: float  # µs, mean of the write-ahead log
    loop: float  # ms of `loop` just before
    names: dict[int, str]  # pid → name of the process

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
        """The interval with these figures; `seconds` is its length if the load has measured it."""
        lasted, groups = seconds or self.seconds, defaultdict[str, float](float)
        for name, cpu in self.spent.items():
            group = name.replace(",", "").partition(" ")[0]
            groups[WORKER.get(group, group)] += cpu * 1e6 / max(1, requests)
        return Interval(
            *(side, number, requests, lasted, requests / lasted, p50, p99, errors, dict(groups)),
            *(self.others, self.steal, self.fsync, self.loop, notes or {}),
        )
