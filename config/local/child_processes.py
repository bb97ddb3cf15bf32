"""Keeps a set of programs running: restarts, their warnings, an ordered stop."""

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
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0  # before a child that died is started again
_TERMINAL = 0  # the descriptor
_SAME_REQUEST = 0.5  # seconds within which two requests to stop are the same one
_STABLE = 10.0  # seconds of life after which earlier deaths are forgotten
_MAX_EXITS = 4  # deaths in a row, while everything is starting
_MAX_LINES_SHOWN = 8  # of one child's warnings; the rest is in its log


class StoppedError(Exception):
    """We were asked to stop."""


@dataclass(eq=False)
class Child:
    """A program to keep running."""

    name: str
    launch: Callable[[], subprocess.Popen[bytes]]
    log: Path
    stop_signal: signal.Signals = signal.SIGTERM
    shown: re.Pattern[str] | None = _WARNINGS
    once: bool = False
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    due: float = 0.0
    deaths: int = 0
    said: int = 0  # where in the log this life began
    read: int = 0  # how far the log was looked through

    def start(self) -> None:
        self.said = self.log.stat().st_size if self.log.exists() else 0
        self.read = max(self.read, self.said)
        self.due = math.inf
        self.process = self.launch()
        self.started = time.monotonic()

    def record_exit(self) -> float:
        """Give up a process that ended; returns in how many seconds another is due."""
        if self.process is not None:
            # Orphans keep the port: granian's workers share it with a newcomer without a word.
            signal_group(self.process, signal.SIGKILL)
            self.process = None
            if time.monotonic() - self.started > _STABLE:
                self.deaths = 0
        pause = min(_LONGEST_PAUSE, _SHORTEST_PAUSE * 2.0 ** min(self.deaths, 10))
        self.deaths += 1
        self.due = time.monotonic() + pause
        return pause

    def warnings(self) -> list[str]:
        """What is worth showing of what was logged since the last look."""
        if self.shown is None or not self.log.exists():
            return []
        with self.log.open("rb") as file:
            if file.seek(0, os.SEEK_END) < self.read:  # somebody emptied it
                self.read = 0
            file.seek(self.read)
            whole, newline, _ = file.read().rpartition(b"\n")
        self.read += len(whole + newline)
        found = filter(self.shown.search, whole.decode(errors="replace").splitlines())
        return [line[:300] for line in found]


class Supervisor:
    """Starts children, restarts those that die, stops all; SIGINT and SIGTERM ask for that."""

    def __init__(self, say: Callable[[str], None], *, patience: float = 10) -> None:
        self.say = say
        self.patience = patience  # seconds between asking a child to stop and making it
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
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup wants us to live on
            self._handle(signal.SIGHUP, self._request_stop)
            if os.isatty(_TERMINAL):
                # Its closing signals the session's leader, which may be a `make` that only waits.
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
        """Start a group; groups are stopped in the reverse order of their adding."""
        self.groups.append(list(children))
        for child in children:
            child.start()

    def wait(self, ready: Callable[[], bool], *children: Child, seconds: float = 60) -> None:
        """Tend everybody until `ready`; raises StartError when these children do not get there."""
        deadline = time.monotonic() + seconds
        while not ready():
            self.supervise(0.05)
            for child in children:
                late = time.monotonic() > deadline
                if late or child.deaths >= _MAX_EXITS:
                    raise _start_error(child, "does not answer" if late else "does not start")

    def complete(self, child: Child) -> None:
        """Run a command to its end; raises StartError when it fails."""
        child.once = True
        self.add(child)
        process = child.process
        while process is not None and process.poll() is None:
            self.supervise(0.2)
        self.groups.remove([child])
        if process is not None and process.returncode != 0:
            raise _start_error(child, "failed")

    def run(self) -> None:
        """Tend everybody until asked to stop."""
        with suppress(StoppedError):
            while True:
                self.supervise(0.5)

    def supervise(self, seconds: float) -> None:
        """Sleep, or until a signal comes; then show warnings and restart the dead."""
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
        """End every child, the last group first; a second request ends patience."""
        while self.groups:
            group = self.groups.pop()
            running = [child.process for child in group if child.process is not None]
            for child in group:
                if child.process is not None:
                    signal_group(child.process, child.stop_signal)
            deadline = time.monotonic() + self.patience
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
        if code != -signal.SIGKILL:  # of that nobody can have said a word
            for line in last_lines(child.log, since=child.said):
                self.say(f"  {line}")

    def _restart(self, child: Child) -> None:
        try:
            child.start()
        except OSError as error:  # a full disk, say: it may pass
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
        # `timeout` and `make` each pass the same request on: two at once are one.
        if time.monotonic() - self._stop_requested_at > _SAME_REQUEST:
            self._stop_requests += 1
        self._stop_requested_at = time.monotonic()


def _start_error(child: Child, what: str) -> StartError:
    said = last_lines(child.log, 1, since=child.said)
    return StartError(f"{child.name} {what}: {' '.join(said) or 'it said nothing'} ({child.log})")
