"""The files a process counts in: a dead one's are continued by the next, never emptied.

The sum over all processes may not fall while one of them lives, or Prometheus would take the fall
for a restart and count the whole sum anew. So a process takes a free slot, and with it the files
that its last holder left. Each slot has a lock, which the kernel releases however the process ends;
pids would not do, for each container has a pid 7.
"""

import fcntl
import os
import struct
import tomllib
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, TextIO

from config.environment.variables import ROOT

RELEASE: str = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
TYPES = ("counter", "histogram", "gauge_mostrecent")  # as prometheus_client names its files
SIZE = 2**19  # bytes of a file, reserved: writing to an unreserved page of a full disk kills


class Slot:
    """A number that no other live process has. Raises OSError where the directory is unwritable."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._take()
        os.register_at_fork(after_in_child=self._take)

    @property
    def name(self) -> str:
        """What the names of this process's files end in: `counter_<name>.db`."""
        return _name(self._number)

    def _take(self) -> None:
        """The first free slot; what other releases left in any free one is deleted on the way."""
        self._lock: TextIO | None = None
        for number in count():
            path = self._directory / f"{number}.lock"
            if self._lock and not path.exists():
                break
            if (lock := _lock(path)) is None:
                continue
            self._clean(number)
            if self._lock is None:
                self._lock, self._number = lock, number
            else:
                lock.close()
        for type_ in TYPES:
            _reserve(self._directory / f"{type_}_{self.name}.db")

    def _clean(self, number: int) -> None:
        """Another release's series may have another shape, and one damaged file breaks the page."""
        for file in self._directory.glob(f"*-{number}.db"):
            if not file.stem.endswith(f"_{_name(number)}") or not _is_readable(file):
                file.unlink()


def _name(number: int) -> str:
    return f"{RELEASE}-{number}"


def _lock(path: Path) -> TextIO | None:
    """Held for as long as the file stays open; None while another process holds it."""
    file = path.open("a", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def _is_readable(file: Path) -> bool:
    from prometheus_client.mmap_dict import MmapedDict  # noqa: PLC0415 - only where we count

    untyped: Any = MmapedDict
    with suppress(RuntimeError, ValueError, struct.error):
        return all(untyped.read_all_values_from_file(file))
    return False


def _reserve(file: Path) -> None:
    """Whole or not at all: a reader of an empty file fails."""
    if not file.exists():
        unfinished = file.with_suffix(".new")
        unfinished.write_bytes(bytes(SIZE))
        unfinished.replace(file)
