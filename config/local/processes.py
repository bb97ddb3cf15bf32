"""Child processes that never outlive their parent, and cleanup after a killed run."""

import ctypes
import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None
_PROC = Path("/proc")


class StartError(Exception):
    """A line for the user that says why something cannot start."""


class LockedError(StartError):
    """Another process holds the lock and wrote `pid` into it."""

    def __init__(self, pid: str) -> None:
        super().__init__(f"already running (pid {pid or 'unknown'})")
        self.pid = pid


@dataclass(frozen=True)
class Account:
    """A user other than root to run a server as."""

    name: str
    uid: int
    gid: int


def lock(path: Path) -> TextIO:
    """Holds the lock for as long as the returned file stays open; raises LockedError."""
    file = path.open("a+", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.seek(0)
        pid = file.read().strip()
        file.close()
        if error.errno in {errno.EAGAIN, errno.EACCES}:
            raise LockedError(pid) from None
        raise
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


def die_with_parent(number: signal.Signals, parent: int) -> None:
    """Makes Linux send us this signal when our parent dies, even by SIGKILL."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, number.value, 0, 0, 0)
    if os.getppid() != parent:  # it died before the call
        os._exit(1)


def spawn(
    command: Sequence[str | Path],
    *,
    log: Path,
    die: signal.Signals = signal.SIGTERM,
    account: Account | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | str = "/",
) -> subprocess.Popen[bytes]:
    """Starts a child in a new session, logging to `log`; it gets `die` when we die."""
    if threading.current_thread() is not threading.main_thread():
        # The kernel ties the death signal to the forking thread, not to the process.
        raise RuntimeError("start child processes from the main thread")
    me = os.getpid()
    identity: dict[str, Any] = {}
    if account is not None:
        identity = {"user": account.uid, "group": account.gid, "extra_groups": []}
    private = 0o077 if account is None else -1  # another account must read these files
    log.touch(mode=0o600)
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - our own commands only
            [os.fspath(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=env,
            start_new_session=True,
            umask=private,
            # Runs between fork and exec, after setuid, which would clear the death signal.
            preexec_fn=lambda: die_with_parent(die, me),  # noqa: PLW1509
            **identity,
        )


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signals a child and everything it forked."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def command_line(pid: int) -> str:
    """The command line of a process; empty when it does not exist or is a zombie."""
    if _PROC.joinpath("self").exists():
        with suppress(OSError):
            return (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        return ""
    return _ps("-o", "command=", "-p", str(pid))


def survivors(tag: str) -> list[int]:
    """Other processes whose environment has the entry `tag`."""
    if not _PROC.joinpath("self").exists():
        lines = (line.split() for line in _ps("-A", "-E", "-o", "pid=,command=").splitlines())
        pids = [int(line[0]) for line in lines if tag in line]
    else:
        pids = [
            int(entry.name)
            for entry in _PROC.iterdir()
            if entry.name.isdigit() and tag in _environment(entry)
        ]
    return [pid for pid in pids if pid != os.getpid()]


def kill_survivors(tag: str) -> None:
    """Kills processes left by a killed run: its children die with it, but theirs may not."""
    deadline = time.monotonic() + 10
    while (pids := survivors(tag)) and time.monotonic() < deadline:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def stop_unrelated(pid: int, tag: str, number: signal.Signals) -> None:
    """Stops a process that is not our child, while its command line contains `tag`."""
    deadline = time.monotonic() + 10
    while tag in command_line(pid):
        late = time.monotonic() > deadline
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL if late else number)
        time.sleep(0.05)


def last_lines(log: Path, count: int = 5, *, since: int = 0) -> list[str]:
    """The last lines of a log, each cut to 300 characters."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(since, size - 8192))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return []
    return [line.rstrip()[:300] for line in text.splitlines() if line.strip()][-count:]


def _environment(process: Path) -> set[str]:
    with suppress(OSError):
        return set((process / "environ").read_bytes().decode(errors="replace").split("\0"))
    return set()


def _ps(*options: str) -> str:
    command = ["ps", "-ww", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603
