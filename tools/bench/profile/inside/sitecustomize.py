"""Samples a Python process of the service from outside its code.

Python imports this module at its start because the profiler puts this folder on PYTHONPATH.
The kernel sends SIGPROF to the running thread after each interval of CPU; faulthandler's handler,
which is C and needs no GIL, writes that thread's Python stack to a file.
"""

import faulthandler
import os
import signal
import sys
from pathlib import Path

FOLDER, MODE = Path(os.environ.get("KVITOK_PROFILE", "")), os.environ.get("KVITOK_MODE")
INTERVAL = 0.004  # s of CPU between two samples; most kernels' clocks tick no faster
ROLES = {  # of a process, by what its command line holds
    "config.web_server": "web",
    "worker": "worker",
    "beat": "beat",
    "tools.simulator": "simulator",
}


def _start() -> None:
    if MODE == "sample":
        stacks = (FOLDER / f"{os.getpid()}.stacks").open("w")
        faulthandler.register(signal.SIGPROF, file=stacks, all_threads=False)
        signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)


role = next((role for word, role in ROLES.items() if word in sys.orig_argv), "")
if role or os.environ.get("PGAPPNAME"):
    # PostgreSQL shows it, so that a backend can be told from another; children inherit it.
    os.environ.setdefault("PGAPPNAME", role)
    os.register_at_fork(after_in_child=_start)
    _start()
