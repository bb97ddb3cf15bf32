"""Threads and file descriptors of programs, children included."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.stack.programs import Program


@dataclass(frozen=True)
class ResourceUsage:
    threads: int
    files: int

    def __or__(self, other: "ResourceUsage") -> "ResourceUsage":
        """The maximum of each figure."""
        return ResourceUsage(max(self.threads, other.threads), max(self.files, other.files))

    def __and__(self, other: "ResourceUsage") -> "ResourceUsage":
        """The minimum of each figure."""
        return ResourceUsage(min(self.threads, other.threads), min(self.files, other.files))

    def exceeds(self, other: "ResourceUsage", *, threads: int, files: int) -> bool:
        """Whether it is larger by more than this."""
        return self.threads > other.threads + threads or self.files > other.files + files


def usage_of(programs: Iterable[Program]) -> ResourceUsage:
    """The total of all programs."""
    pids = [pid for program in programs for pid in tree(program.running.pid)]
    return ResourceUsage(_count(pids, "task"), _count(pids, "fd"))


def usage_range(programs: Sequence[Program], seconds: float) -> tuple[ResourceUsage, ResourceUsage]:
    """The least and the most used during `seconds`."""
    least = most = usage_of(programs)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(0.05)
        now = usage_of(programs)
        least, most = least & now, most | now
    return least, most


def tree(pid: int) -> Iterator[int]:
    yield pid
    with suppress(OSError):  # a thread or a child may end while we look
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield from tree(int(child))


def _count(pids: Iterable[int], folder: str) -> int:
    result = 0
    for pid in pids:
        with suppress(OSError):
            result += len(list(Path(f"/proc/{pid}/{folder}").iterdir()))
    return result
