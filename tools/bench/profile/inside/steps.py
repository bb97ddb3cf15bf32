"""Notes when a process of the service began and ended each step of a message's way.

The steps are functions of libraries, where a process waits for another one, and of the service,
found by name and replaced at run time. All times are of CLOCK_MONOTONIC, which processes share.
"""

import sys
import threading
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

Label = Callable[..., str]
_taken: list[tuple[float, float, str, str]] = []  # begin, end, thread, label


def _sql(_cursor: Any, query: Any, *_: Any, **__: Any) -> str:
    text = query if isinstance(query, str) else query.decode() if isinstance(query, bytes) else ""
    return f"SQL {text}"


def _command(_connection: Any, *arguments: Any, **_: Any) -> str:
    return f"Redis {arguments[0]}"


def _path(_gateway: Any, environ: dict[str, Any], *_: Any) -> str:
    return f"request {environ['PATH_INFO']}"


# By module: the function, or class and method, and its label.
STEPS: dict[str, dict[str, str | Label]] = {
    "psycopg": {
        "Cursor.execute": _sql,
        "Connection.commit": "SQL COMMIT",
        "Connection.rollback": "SQL ROLLBACK",
    },
    "psycopg_pool": {"ConnectionPool.getconn": "a connection from the pool"},
    "redis.connection": {
        "AbstractConnection.send_command": _command,
        "AbstractConnection.read_response": "Redis answers",
    },
    "urllib3.connection": {
        "HTTPConnection.request": "call of the vendor is written",
        "HTTPConnection.getresponse": "vendor answers",
    },
    "processes.server.gateway": {"Gateway.schedule": "head arrives", "Gateway._run": _path},
    "channels.accept.send_limits": {"acquire": "limits"},
    "channels.accept.acceptance": {"accept": "acceptance"},
    "channels.waiting.outcome_signals": {
        "Waiter.wait": "send waits for its outcome",
        "_deliver": "signal arrives",
        "publish": "outcomes published",
    },
    "channels.wakeups": {"wake_now": "workers woken"},
    "processes.outbox_loop": {
        "OutboxLoop.wake": "wake-up arrives",
        "OutboxLoop.add": "call returns",
    },
    "channels.deliver.claims": {"claim": "claim"},
    "channels.deliver.dispatcher": {
        "Dispatcher.dispatch": "round",
        "Dispatcher.record": "record",
        "hand_over": "hand over",
    },
    "channels.outcomes.transitions": {"commit_events": "outcomes committed"},
    "channels.outcomes.receipts": {"store": "receipts stored", "apply_stored": "receipts applied"},
    "otp.settlement": {"settle_verified": "settlement looked for"},
}


def start() -> None:
    """Patches the modules that this process has imported."""
    for module_name, steps in STEPS.items():
        module = sys.modules.get(module_name)
        if module is not None:
            for name, label in steps.items():
                _replace(module, name, label)


def taken() -> list[tuple[float, float, str, str]]:
    return _taken


def _replace(module: Any, name: str, label: str | Label) -> None:
    owner_name, _, method = name.rpartition(".")
    if owner_name:
        owner = getattr(module, owner_name)
        setattr(owner, method, _timed(getattr(owner, method), label))
        return
    function = getattr(module, name)
    timed = _timed(function, label)
    for other in list(sys.modules.values()):  # those that imported it, too
        if getattr(other, "__dict__", {}).get(name) is function:
            setattr(other, name, timed)


def _timed(function: Callable[..., Any], label: str | Label) -> Callable[..., Any]:
    @wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            ended = time.perf_counter()
            said = label if isinstance(label, str) else label(*args, **kwargs)
            _taken.append((began, ended, threading.current_thread().name, said))

    return timed
