"""Samples or traces a Python process of the service from outside its code.

Python imports this module at its start because the profiler puts this folder on PYTHONPATH.
`sample`: the kernel sends SIGPROF to the running thread after each interval of CPU; faulthandler's
handler, which is C and needs no GIL, writes that thread's Python stack to a file. `trace`: a thread
notes steps from when the file of that name is there until `finish` is.
"""

import faulthandler
import importlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

FOLDER, MODE = Path(os.environ.get("KVITOK_PROFILE", "")), os.environ.get("KVITOK_MODE")
INTERVAL = 0.004  # s of CPU between two samples; most kernels' clocks tick no faster
ROLES = {  # of a process, by what its command line holds
    "config.web_server": "web",
    "worker": "worker",
    "beat": "beat",
    "tools.simulator": "simulator",
}


def _sample() -> None:
    stacks = (FOLDER / f"{os.getpid()}.stacks").open("w")
    faulthandler.register(signal.SIGPROF, file=stacks, all_threads=False)
    signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)


def _trace() -> None:
    steps = importlib.import_module("steps")  # beside this module
    for name, act in (("trace", steps.start), ("finish", lambda: None)):
        while not (FOLDER / name).exists():
            time.sleep(0.1)
        act()
    written = FOLDER / f"{os.getpid()}.new"
    written.write_text(json.dumps(steps.taken()))
    written.rename(written.with_suffix(".steps"))


def _start() -> None:
    if MODE == "sample":
        _sample()
    if MODE == "trace":
        threading.Thread(target=_trace, name="profiler", daemon=True).start()


role = next((role for word, role in ROLES.items() if word in sys.orig_argv), "")
if role or os.environ.get("PGAPPNAME"):
    # PostgreSQL shows it, so that a backend can be told from another; children inherit it.
    os.environ.setdefault("PGAPPNAME", role)
    os.register_at_fork(after_in_child=_start)
    _start()
