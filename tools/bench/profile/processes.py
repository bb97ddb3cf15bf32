"""CPU of each process of the service, from the kernel's clocks, and what the stores counted."""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import redis

from tools.bench import machine
from tools.stack.stack import Stack

OWN_BACKEND = "postgres for the bench"
_BACKENDS = "SELECT pid, backend_type, application_name FROM pg_stat_activity"


@dataclass(frozen=True, slots=True)
class Spent:
    """By one process, since its start or between two readings."""

    seconds: float
    switches: int

    def __sub__(self, earlier: "Spent") -> "Spent":
        return Spent(self.seconds - earlier.seconds, self.switches - earlier.switches)

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.seconds + other.seconds, self.switches + other.switches)


NOTHING = Spent(0.0, 0)


def cpu_seconds(pid: int) -> float:
    """Of all its threads, ended ones included, to the nanosecond: the clock of another process."""
    return time.clock_gettime((~pid << 3) | 2)  # CPUCLOCK_SCHED, see clock_getcpuclockid(3)


def reading(pids: Mapping[int, str]) -> dict[int, Spent]:
    found = {}
    for pid in pids:
        with suppress(OSError):  # it may have ended
            found[pid] = Spent(cpu_seconds(pid), _switches(pid))
    return found


def between(
    before: Mapping[int, Spent], after: Mapping[int, Spent], names: Mapping[int, str]
) -> dict[str, Spent]:
    """By name; a process that is new has spent all it has since it started."""
    totals: dict[str, Spent] = {}
    for pid, spent in after.items():
        own = spent - before.get(pid, NOTHING)
        totals[names[pid]] = totals.get(names[pid], NOTHING) + own
    return totals


def members(stack: Stack) -> dict[int, str]:
    """Names of all processes: the service's, the stores', the simulator's and the load's."""
    known = machine.processes()
    names = {os.getpid(): "load generator"}
    for program, root in stack.programs().items():
        children = [pid for pid, one in known.items() if one.parent == root]
        workers = [pid for pid in sorted(children) if _threads(pid) > 1]
        names[root] = f"{program}, parent" if program == "web" else program
        names |= dict.fromkeys(children, names[root])
        if program == "web":
            names |= {pid: f"web {number}" for number, pid in enumerate(workers, 1)}
    names[stack.redis_server.pid] = "redis"
    return names | _of_postgres(stack, known)


def _of_postgres(stack: Stack, known: Mapping[int, machine.Process]) -> dict[int, str]:
    root = stack.postgres.pid
    names = {pid: "postgres, other" for pid, one in known.items() if one.parent == root}
    names[root] = "postgres, other"
    for pid, kind, application in stack.store.execute(_BACKENDS):
        if kind == "client backend":
            names[pid] = f"postgres for {application}" if application else OWN_BACKEND
        elif kind in {"walwriter", "checkpointer"} or kind.startswith("autovacuum"):
            names[pid] = f"postgres, {kind}"
    return names


def _threads(pid: int) -> int:
    with suppress(OSError):
        return len(list(Path(f"/proc/{pid}/task").iterdir()))
    return 0


def _switches(pid: int) -> int:
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            lines = (task / "status").read_text().splitlines()
            total += sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)
    return total


FLUSHED = 11.0  # seconds after which an idle backend has handed in what it counted
_DATABASE = """
SELECT xact_commit, (SELECT sum(n_tup_ins) FROM pg_stat_user_tables),
  (SELECT sum(n_tup_upd) FROM pg_stat_user_tables),
  (SELECT sum(n_tup_hot_upd) FROM pg_stat_user_tables),
  (SELECT sum(n_tup_del) FROM pg_stat_user_tables),
  (SELECT wal_bytes FROM pg_stat_wal), (SELECT wal_records FROM pg_stat_wal),
  (SELECT wal_fpi FROM pg_stat_wal),
  (SELECT COALESCE(sum(fsyncs), 0) FROM pg_stat_io WHERE object = 'wal')
FROM pg_stat_database WHERE datname = current_database()"""
_NAMES = [*("commits", "rows inserted", "rows updated", "of them HOT", "rows deleted")]
_NAMES += ["WAL bytes", "WAL records", "full pages in it", "WAL flushes"]
Counts = dict[str, float]


def read(store: psycopg.Connection, server: redis.Redis) -> Counts:
    row = store.execute(_DATABASE).fetchone() or ()
    counts = {name: float(value or 0) for name, value in zip(_NAMES, row, strict=True)}
    stats: Any = server.info("stats")
    commands: Any = server.info("commandstats")
    counts["Redis round trips"] = stats["total_reads_processed"]
    counts["Redis commands"] = stats["total_commands_processed"]
    return counts | {
        f"Redis {name.removeprefix('cmdstat_').upper()}": each["calls"]
        for name, each in commands.items()
    }


def summed(one: Counts, other: Counts, times: float = 1.0) -> Counts:
    """`times` −1: without the other."""
    return {name: one.get(name, 0.0) + times * other.get(name, 0.0) for name in one | other}
