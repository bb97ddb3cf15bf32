"""Tells the workers that something is due, off the request thread and at most every 5 ms.

A hint and no more: a lost one costs a beat tick, because the database says what is due.
"""

import os
import threading
import time

import redis
import structlog

from config.redis_client import redis_client

log = structlog.get_logger(__name__)

WAKE = "wake"  # the list workers block on
LONGEST = 16  # entries kept: one wakes one worker, and each looks at everything
PAUSE = 0.005
BACK_OFF = 1.0

_wanted = threading.Event()
_thread: threading.Thread | None = None
_thread_pid = 0
_start = threading.Lock()


def wake() -> None:
    """Call after commit. Never blocks, never fails."""
    if _thread_pid != os.getpid():
        _start_thread()
    _wanted.set()


def _start_thread() -> None:
    """Started lazily, so that each forked process has its own."""
    global _thread, _thread_pid  # noqa: PLW0603 - one nudger per process
    with _start:
        if _thread_pid != os.getpid():
            _thread = threading.Thread(target=_run, name="nudger", daemon=True)
            _thread.start()
            _thread_pid = os.getpid()


def _run() -> None:
    while True:
        _wanted.wait()
        _wanted.clear()
        time.sleep(PAUSE if push() else BACK_OFF)


def push() -> bool:
    try:
        with redis_client().pipeline(transaction=False) as pipeline:
            pipeline.lpush(WAKE, 1)
            pipeline.ltrim(WAKE, 0, LONGEST - 1)
            pipeline.execute()
    except redis.RedisError as error:
        log.warning("nudge_lost", error=type(error).__name__)
        return False
    return True
