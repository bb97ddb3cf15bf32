"""The service's programs as processes that tests start and kill."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import requests

from config.environment.variables import ROOT
from config.local.processes import last_lines, signal_group, spawn

ERROR_LINE = re.compile(rb'Traceback|"level":"(error|critical)"(?!.*"django.request")')
MISSED_TICK = b"apply scheduled task"  # the broker did not answer the beat in 0.3 s: the next does
TIMEOUT = 60.0  # seconds: how long a start may take on a busy machine
BUSY = 8.0  # seconds that a busy machine may add to a time that is promised


def wait_until(
    condition: Callable[[], bool], seconds: float = 25.0, *, on_timeout: Callable[[], object] = str
) -> None:
    """Waits for a condition; on timeout an AssertionError shows `on_timeout`.

    Patient, as the machine may be busy, yet not until what would happen after half a minute anyway.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"did not happen in time {on_timeout()}"
        time.sleep(0.02)


def answers(url: str) -> bool:
    with suppress(requests.RequestException):
        return requests.get(url, timeout=2, allow_redirects=False).ok
    return False


class Program:
    """A process and its children; ready when `url` responds or `words` are in its log."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path,
        environ: Mapping[str, str],
        url: str = "",
        words: str = "",
        cwd: Path = ROOT,
    ) -> None:
        self.command = command
        self.cwd = cwd
        self.log = log
        self.environ = dict(environ)
        self.url = url
        self.words = words
        self.die = signal.SIGKILL  # what it gets when the tests themselves are killed
        self.start_timeout = TIMEOUT
        self.log_start = 0  # where in the log this life began
        self.heard = 0  # how far the log was looked through for complaints
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> subprocess.Popen[bytes]:
        assert self.process is not None, f"{self.log.stem} is not running"
        return self.process

    def launch(self, *, command: Sequence[str] = (), **environ: str) -> None:
        """Starts it without waiting; `command` and `environ` apply to this start only."""
        self.log_start = self.log.stat().st_size if self.log.exists() else 0
        self.process = spawn(
            [sys.executable, *(command or self.command)],
            log=self.log,
            die=self.die,
            env=self.environ | environ,
            cwd=self.cwd,
        )

    def wait_ready(self) -> None:
        deadline = time.monotonic() + self.start_timeout
        while not self.is_ready():
            failed = self.running.poll() is not None or time.monotonic() > deadline
            assert not failed, last_lines(self.log, 20, since=self.log_start)
            time.sleep(0.05)

    def start(self, **environ: str) -> None:
        self.launch(**environ)
        self.wait_ready()

    def terminate(self) -> None:
        signal_group(self.running, signal.SIGTERM)

    def wait_stopped(self, seconds: float = 20.0) -> int:
        """Waits for its exit and kills its children; returns its exit code."""
        try:
            return self.running.wait(seconds)
        finally:
            self.kill()

    def kill(self) -> None:
        if self.process is not None:
            signal_group(self.process, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def log_since_start(self) -> str:
        return self.log.read_bytes()[self.log_start :].decode(errors="replace")

    def new_errors(self) -> list[str]:
        """Errors logged since the last call, except Django's lines about our 502."""
        lines = self.log.read_bytes()[self.heard :].splitlines(keepends=True)
        self.heard += sum(map(len, lines))
        return [line.decode() for line in lines if _is_error(line)]

    def is_ready(self) -> bool:
        if self.url:
            return answers(self.url)
        return self.words in self.log_since_start()


def _is_error(line: bytes) -> bool:
    return ERROR_LINE.search(line) is not None and MISSED_TICK not in line


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in listed.split()]
