"""Lets the profiler sample and trace a Python process of the service from outside its code.

Python imports this module at its start because the profiler puts this folder on PYTHONPATH. A
thread waits for commands on a pipe of its own and costs nothing until one comes. `sample` has the
kernel send SIGPROF to the running thread after each interval of CPU; faulthandler's handler, which
is C and needs no GIL, writes that thread's Python stack to a file.
"""

import faulthandler
import gc
import importlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

FOLDER = os.environ.get("KVITOK_PROFILE", "")
ROLES = {  # of a process, by what its command line holds
    "config.web_server": "web",
    "worker": "worker",
    "beat": "beat",
    "tools.simulator": "simulator",
}


class _Collections:
    """CPU of the garbage collector, by the clock of the thread on which it runs."""

    def __init__(self) -> None:
        self.seconds, self.runs, self._began = 0.0, 0, 0.0

    def __call__(self, phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            self._began = time.thread_time()
        else:
            self.seconds += time.thread_time() - self._began
            self.runs += 1


class _Profiler:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stacks: TextIO | None = None
        self._collections = _Collections()

    def serve(self) -> None:
        new = self._folder / f"{os.getpid()}.new"
        os.mkfifo(new)
        with os.fdopen(os.open(new, os.O_RDWR), "r") as commands:  # its own writer: it never ends
            new.rename(new.with_suffix(".pipe"))  # now somebody listens
            for line in commands:
                command, *arguments = line.split()
                getattr(self, command)(*arguments)
                (self._folder / f"{os.getpid()}.{command}").touch()  # done

    def sample(self, milliseconds: str) -> None:
        if self._stacks is None:
            self._stacks = (self._folder / f"{os.getpid()}.stacks").open("w")
            faulthandler.register(signal.SIGPROF, file=self._stacks, all_threads=False)
            gc.callbacks.append(self._collections)
        seconds = float(milliseconds) / 1000
        signal.setitimer(signal.ITIMER_PROF, seconds, seconds)

    def rest(self) -> None:
        """The handler stays: a signal that is still under way would end the process."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        facts = {"gc_seconds": self._collections.seconds, "gc_runs": self._collections.runs}
        (self._folder / f"{os.getpid()}.gc").write_text(json.dumps(facts))

    def trace(self) -> None:
        importlib.import_module("steps").start()  # beside this module

    def finish(self) -> None:
        taken = importlib.import_module("steps").taken()
        (self._folder / f"{os.getpid()}.steps").write_text(json.dumps(taken))


def _role() -> str | None:
    arguments: list[Any] = sys.orig_argv
    return next((role for word, role in ROLES.items() if word in arguments), None)


def _serve() -> None:
    threading.Thread(target=_Profiler(Path(FOLDER)).serve, name="profiler", daemon=True).start()


if FOLDER and (_role() or os.environ.get("PGAPPNAME")):
    # PostgreSQL shows it, so that a backend can be told from another; children inherit it.
    os.environ.setdefault("PGAPPNAME", _role() or "")
    os.register_at_fork(after_in_child=_serve)
    _serve()
