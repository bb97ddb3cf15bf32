"""Notes when a process of the service began and ended each step of a message's way.

The steps are functions of libraries, where a process waits for another one, and of the service,
found by the names in `steps.toml` and replaced at run time. All times are of CLOCK_MONOTONIC, which
processes share.
"""

import sys
import threading
import time
import tomllib
from collections.abc import Callable
from functools import wraps
from pathlib import Path
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


_OF: dict[str, str | Label] = {"SQL …": _sql, "Redis …": _command, "request …": _path}
_FILE = Path(__file__).with_suffix(".toml")
STEPS: dict[str, dict[str, str]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))


def start() -> None:
    """Patches the modules that this process has imported."""
    for module_name, steps in STEPS.items():
        module = sys.modules.get(module_name)
        if module is not None:
            for name, label in steps.items():
                _replace(module, name, _OF.get(label, label))


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
