"""Samples a Python process of the service without changing its code.

Python imports it at start from PYTHONPATH. The kernel sends SIGPROF to the running thread after
each interval of CPU; faulthandler's handler, in C, writes that thread's Python stack to a file.
"""

import faulthandler
import os
import signal
import sys
from pathlib import Path

FOLDER = Path(os.environ.get("KVITOK_PROFILE", ""))
MODE = os.environ.get("KVITOK_MODE")
INTERVAL = 0.004  # s of CPU between samples, the tick of most kernels
ROLES = {  # argument of the command line → role of the process
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
    # Shown by PostgreSQL, so that backends can be distinguished; children inherit it.
    os.environ.setdefault("PGAPPNAME", role)
    os.register_at_fork(after_in_child=_start)
    _start()
