"""Pauses a process: its sockets accept data, and it does nothing."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
