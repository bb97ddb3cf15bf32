"""CPU time of processes and of the whole machine, from Linux's /proc."""

import os
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")  # a second
CLIENT = "client"  # the group that generates the load: this process and what it has waited for


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
    others: float  # cores taken by what is none of ours
    steal: float  # cores


def parse_process(stat: str) -> Process:
    # The name before the last bracket may hold anything, spaces and brackets included.
    fields = stat.rpartition(")")[2].split()
    utime, stime, children_utime, children_stime = map(int, fields[11:15])
    return Process(int(fields[1]), utime + stime, children_utime + children_stime)


def parse_machine(stat: str) -> tuple[int, int]:
    """(busy, stolen) ticks. Interrupts count as busy: processes are charged for those they meet."""
    user, nice, system, _idle, _wait, irq, softirq, steal, *_ = map(
        int, stat.splitlines()[0].split()[1:]
    )
    return user + nice + system + irq + softirq, steal


def processes() -> dict[int, Process]:
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # it may end while we look
                found[int(entry.name)] = parse_process((entry / "stat").read_text())
    return found


def ticks_of(root: int, known: Mapping[int, Process]) -> int:
    """Of a process and all below it, those that have ended included."""
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
        seconds=seconds,
        groups={name: ticks / TICKS for name, ticks in groups.items()},
        others=max(0.0, others / TICKS / seconds),
        steal=(after.steal - before.steal) / TICKS / seconds,
    )
