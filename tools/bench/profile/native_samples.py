"""Samples of the kernel and of C code, by `perf`, where it is installed and allowed."""

import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

FREQUENCY = 499  # a second and core; a prime, so that it does not keep step with anything
_HEAD = re.compile(r"\S.*?\s(\d+)/(\d+)\s*$")
_ENTRY = re.compile(r"\s+[0-9a-f]+ (.+) \((.*)\)$")
_CALL = re.compile(r"__(?:x64|se|do)_sys_(\w+)")
SOCKETS = {
    "sendto", "recvfrom", "sendmsg", "recvmsg", "epoll_wait", "epoll_pwait", "epoll_ctl", "poll",
    "ppoll", "select", "pselect6", "connect", "accept4", "accept", "socket", "shutdown", "close",
    "setsockopt", "getsockopt", "read", "write", "writev", "readv",
}  # fmt: skip
FILES = {"fsync", "fdatasync", "pwrite64", "pwritev", "pread64", "openat", "newfstatat", "lseek"}
GIL = {"take_gil", "drop_gil", "take_gil.isra.0", "drop_gil.isra.0", "_PyThread_cond_after"}
COLLECTOR = re.compile(
    r"gc_collect|update_refs|subtract_refs|visit_(decref|reachable)|deduce_unreachable|_traverse$"
)
LIBRARIES = (  # by a part of the file's name
    ("libpython", "Python interpreter"),
    ("_granian", "HTTP server (Rust)"),
    ("libpq", "psycopg and libpq"),
    ("psycopg", "psycopg and libpq"),
    ("orjson", "orjson"),
    ("hiredis", "hiredis"),
    ("libcrypto", "OpenSSL"),
    ("_hashlib", "OpenSSL"),
    ("libssl", "OpenSSL"),
    ("libc.so", "C library"),
    ("libc-", "C library"),
    ("[vdso]", "C library"),
    ("postgres", "PostgreSQL's own code"),
    ("redis-server", "Redis' own code"),
)


class Sample(NamedTuple):
    pid: int
    thread: int
    frames: Sequence[tuple[str, str]]  # (symbol, file), the innermost first


class NoRecorder:
    """Where there is no perf."""

    def stop(self) -> str:
        return ""


def recorder(file: Path) -> "Recorder | NoRecorder":
    return Recorder(file) if is_available() else NoRecorder()


def is_available() -> bool:
    """Whether perf may sample the whole machine."""
    program = shutil.which("perf")
    if program is None:
        return False
    probe = [program, "record", "-a", "-e", "cpu-clock", "-o", "/dev/null", "--", "true"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0  # noqa: S603


class Recorder:
    """Of the whole machine, from its making until `stop`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        options = [
            "-a",
            "-g",
            "-e",
            "cpu-clock",
            "-F",
            str(FREQUENCY),
            "-o",
            str(file),
        ]
        self._process = subprocess.Popen(  # noqa: S603 - no words but our own
            [shutil.which("perf") or "perf", "record", *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def stop(self) -> str:
        """What `perf script` makes of it."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(60)
        fields = ["-F", "comm,pid,tid,ip,sym,dso"]
        done = subprocess.run(  # noqa: S603
            [shutil.which("perf") or "perf", "script", "-i", str(self._file), *fields],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        return done.stdout


def parse(text: str) -> Iterator[Sample]:
    for block in text.split("\n\n"):
        head, *lines = block.strip("\n").splitlines() or [""]
        found = _HEAD.match(head)
        entries = [entry for line in lines if (entry := _ENTRY.match(line))]
        if found and entries:
            yield Sample(int(found[1]), int(found[2]), [(entry[1], entry[2]) for entry in entries])


def kind(frames: Sequence[tuple[str, str]]) -> str:
    symbol, file = frames[0]
    if "[kernel" in file or "[guest.kernel" in file:
        return _kernel([name for name, place in frames if "kernel" in place])
    if symbol in GIL:
        return "GIL"
    if "libpython" in file and COLLECTOR.search(symbol):
        return "garbage collector"
    return next((name for part, name in LIBRARIES if part in file), "other libraries")


def _kernel(symbols: Sequence[str]) -> str:
    call = next((found[1] for one in symbols if (found := _CALL.match(one))), None)
    if call == "futex":
        return "kernel: locks of threads (futex)"
    if call in SOCKETS:
        return "kernel: sockets and polling"
    if call in FILES:
        return "kernel: files and fsync"
    if call is not None:
        return "kernel: other system calls"
    if any("page_fault" in one for one in symbols):
        return "kernel: page faults"
    return "kernel: interrupts and switches"


def counted(samples: Iterable[Sample], names: Mapping[int, str]) -> Counter[tuple[str, str]]:
    """Samples by (process, kind)."""
    return Counter(
        (names[sample.pid], kind(sample.frames)) for sample in samples if sample.pid in names
    )


def without_python(samples: Iterable[Sample]) -> Counter[int]:
    """Samples by process of the threads that were never seen in the interpreter."""
    by_thread: Counter[tuple[int, int]] = Counter()
    interpreting: set[tuple[int, int]] = set()
    for sample in samples:
        by_thread[sample.pid, sample.thread] += 1
        if "libpython" in sample.frames[0][1]:
            interpreting.add((sample.pid, sample.thread))
    found: Counter[int] = Counter()
    for key, count in by_thread.items():
        if key not in interpreting:
            found[key[0]] += count
    return found
