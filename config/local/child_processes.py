"""Keeps a set of programs running: restarts them, shows warnings, stops them in order."""

import math
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from config.local.processes import StartError, last_lines, signal_group

_WARNINGS = re.compile(r'\b(?:WARNING|ERROR|CRITICAL)\b|"level":\s*"(?:warning|error|critical)"')
# Seconds before a child that exited is restarted.
_MIN_PAUSE = 0.2
_MAX_PAUSE = 5.0
_TERMINAL = 0  # file descriptor
_SAME_REQUEST = 0.5  # seconds within which two stop signals count as one
_STABLE = 10.0  # seconds of running that reset the exit count
_MAX_EXITS = 4  # consecutive exits during startup
_MAX_LINES_SHOWN = 8  # per check and child; others are in its log


class StoppedError(Exception):
    """A stop was requested."""


@dataclass(eq=False)
class Child:
    """A program to keep running."""

    name: str
    launch: Callable[[], subprocess.Popen[bytes]]
    log: Path
    stop_signal: signal.Signals = signal.SIGTERM
    warning_pattern: re.Pattern[str] | None = _WARNINGS
    once: bool = False
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    due: float = 0.0
    exits: int = 0
    log_start: int = 0  # offset in the log where this process began
    log_read: int = 0  # offset up to which the log was searched for warnings

    def start(self) -> None:
        self.log_start = self.log.stat().st_size if self.log.exists() else 0
        self.log_read = max(self.log_read, self.log_start)
        self.due = math.inf
        self.process = self.launch()
        self.started = time.monotonic()

    def record_exit(self) -> float:
        """Cleans up after an exit; returns the seconds until the restart."""
        if self.process is not None:
            # Orphans keep the port: granian's workers would silently share it with a new process.
            signal_group(self.process, signal.SIGKILL)
            self.process = None
            if time.monotonic() - self.started > _STABLE:
                self.exits = 0
        pause = min(_MAX_PAUSE, _MIN_PAUSE * 2.0 ** min(self.exits, 10))
        self.exits += 1
        self.due = time.monotonic() + pause
        return pause

    def warnings(self) -> list[str]:
        """The warnings logged since the last call."""
        if self.warning_pattern is None or not self.log.exists():
            return []
        with self.log.open("rb") as file:
            if file.seek(0, os.SEEK_END) < self.log_read:  # truncated
                self.log_read = 0
            file.seek(self.log_read)
            log_text, newline, _ = file.read().rpartition(b"\n")
        self.log_read += len(log_text + newline)
        lines = filter(self.warning_pattern.search, log_text.decode(errors="replace").splitlines())
        return [line[:300] for line in lines]


class Supervisor:
    """Starts children, restarts those that exit, stops all on SIGINT or SIGTERM."""

    def __init__(self, say: Callable[[str], None], *, stop_timeout: float = 10) -> None:
        self.say = say
        self.stop_timeout = stop_timeout  # seconds between the stop signal and SIGKILL
        self.groups: list[list[Child]] = []
        self._stop_requests = 0
        self._stop_requested_at = -math.inf
        self._handlers: dict[signal.Signals, Any] = {}
        self._wake, self._waker = os.pipe()
        self._poll = select.poll()

    def __enter__(self) -> Self:
        os.set_blocking(self._wake, False)
        os.set_blocking(self._waker, False)
        self._poll.register(self._wake, select.POLLIN)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        self._handle(signal.SIGCHLD, lambda *_: None)
        self._handle(signal.SIGINT, self._request_stop)
        self._handle(signal.SIGTERM, self._request_stop)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # not under nohup
            self._handle(signal.SIGHUP, self._request_stop)
            if os.isatty(_TERMINAL):
                # Closing it signals the session leader, which may be `make`, and not us.
                self._poll.register(_TERMINAL, 0)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        try:
            self.stop()
        finally:
            signal.set_wakeup_fd(-1)
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
            os.close(self._wake)
            os.close(self._waker)

    def add(self, *children: Child) -> None:
        """Starts a group; groups stop in reverse order."""
        self.groups.append(list(children))
        for child in children:
            child.start()

    def wait(self, ready: Callable[[], bool], *children: Child, seconds: float = 60) -> None:
        """Supervises until `ready`; raises StartError when these children fail or are late."""
        deadline = time.monotonic() + seconds
        while not ready():
            self.supervise(0.05)
            for child in children:
                late = time.monotonic() > deadline
                if late or child.exits >= _MAX_EXITS:
                    raise _start_error(child, "does not answer" if late else "does not start")

    def complete(self, child: Child) -> None:
        """Runs a command to its end; raises StartError when it fails."""
        child.once = True
        self.add(child)
        process = child.process
        while process is not None and process.poll() is None:
            self.supervise(0.2)
        self.groups.remove([child])
        if process is not None and process.returncode != 0:
            raise _start_error(child, "failed")

    def run(self) -> None:
        """Supervises until a stop is requested."""
        with suppress(StoppedError):
            while True:
                self.supervise(0.5)

    def supervise(self, seconds: float) -> None:
        """Sleeps until the timeout or a signal; shows warnings, restarts exited children."""
        self._sleep(seconds)
        if self._stop_requests:
            raise StoppedError
        for child in self._children():
            self._show(child)
            if child.once:
                continue
            if child.process is not None and child.process.poll() is not None:
                self._record_exit(child, child.process.returncode)
            elif child.process is None and time.monotonic() >= child.due:
                self._restart(child)

    def stop(self) -> None:
        """Stops every child, the last group first; a second stop request kills them."""
        while self.groups:
            group = self.groups.pop()
            running = [child.process for child in group if child.process is not None]
            for child in group:
                if child.process is not None:
                    signal_group(child.process, child.stop_signal)
            deadline = time.monotonic() + self.stop_timeout
            while any(process.poll() is None for process in running):
                if self._stop_requests > 1 or time.monotonic() > deadline:
                    break
                self._sleep(0.1)
            for process in running:
                signal_group(process, signal.SIGKILL)
                process.wait()

    def _children(self) -> list[Child]:
        return [child for group in self.groups for child in group]

    def _show(self, child: Child) -> None:
        lines = child.warnings()
        for line in lines[:_MAX_LINES_SHOWN]:
            self.say(f"{child.name}: {line}")
        if len(lines) > _MAX_LINES_SHOWN:
            self.say(f"{child.name}: … and {len(lines) - _MAX_LINES_SHOWN} more in {child.log}")

    def _record_exit(self, child: Child, code: int) -> None:
        pause = child.record_exit()
        how = f"exit {code}" if code >= 0 else signal.Signals(-code).name
        self.say(f"{child.name} ended ({how}); starting it again in {pause:.1f} s")
        if code != -signal.SIGKILL:  # a killed process logs nothing
            for line in last_lines(child.log, since=child.log_start):
                self.say(f"  {line}")

    def _restart(self, child: Child) -> None:
        try:
            child.start()
        except OSError as error:  # may be temporary, such as a full disk
            child.record_exit()
            self.say(f"{child.name} cannot be started: {error}")

    def _sleep(self, seconds: float) -> None:
        for descriptor, event in self._poll.poll(seconds * 1000):
            if descriptor == self._wake:
                os.read(self._wake, 512)
            else:
                self._poll.unregister(descriptor)
                self._stop_requests += bool(event & select.POLLHUP)

    def _handle(self, number: signal.Signals, handler: Any) -> None:
        self._handlers[number] = signal.signal(number, handler)

    def _request_stop(self, _number: int, _frame: FrameType | None) -> None:
        # `timeout` and `make` each forward the same signal: two at once count as one.
        if time.monotonic() - self._stop_requested_at > _SAME_REQUEST:
            self._stop_requests += 1
        self._stop_requested_at = time.monotonic()


def _start_error(child: Child, failure: str) -> StartError:
    lines = last_lines(child.log, 1, since=child.log_start)
    return StartError(
        f"{child.name} {failure}: {' '.join(lines) or 'it said nothing'} ({child.log})"
    )
