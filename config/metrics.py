"""Prometheus metrics of every process. Off, at no cost, without METRICS_PORT.

Every process writes to a file of its own under METRICS_DIR; `manage.py run_metrics` adds them up.
What the database knows is not counted here but read from it at the scrape.
"""

import os
import socket
from collections.abc import Callable
from functools import cache
from typing import Any

from django.conf import settings

Observe = Callable[[str, int, float], None]
LATENCIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)  # seconds


def is_on() -> bool:
    return settings.METRICS_PORT is not None


@cache
def library() -> Any:
    """prometheus_client, imported in multiprocess mode.

    A pid alone would not do for the name of a process's file: each container has a pid 7.
    """
    settings.METRICS_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(settings.METRICS_DIR)
    import prometheus_client  # noqa: PLC0415 - it reads the environment on import
    from prometheus_client import values  # noqa: PLC0415

    host = socket.gethostname()
    by_process: Any = values.MultiProcessValue
    values.ValueClass = by_process(lambda: f"{host}-{os.getpid()}")
    return prometheus_client


@cache
def _api() -> Any:
    return library().Histogram(
        "kvitok_api_seconds", "API requests", ["call", "status"], buckets=LATENCIES
    )


@cache
def _api_child(call: str, status: int) -> Any:
    """Cached: the library's own lookup costs as much as the counting."""
    return _api().labels(call, status)


def count_request(call: str, status: int, seconds: float) -> None:
    if settings.METRICS_PORT is not None:
        _api_child(call, status).observe(seconds)


@cache
def _messages() -> Any:
    return library().Counter(
        "kvitok_messages", "Messages that reached a state", ["mode", "channel", "state"]
    )


def count_message(mode: str, channel: str, state: str) -> None:
    if is_on():
        _messages().labels(mode, channel, state).inc()


@cache
def _provider() -> Any:
    return library().Histogram(
        "kvitok_provider_seconds",
        "Calls to a provider, by what came of them",
        ["provider", "result"],
        buckets=LATENCIES,
    )


def count_call(provider: str, result: str, seconds: float) -> None:
    if is_on():
        _provider().labels(provider, result).observe(seconds)


@cache
def _trips() -> Any:
    return library().Counter(
        "kvitok_breaker_trips", "How often an account's breaker opened", ["provider", "cause"]
    )


def count_trip(provider: str, cause: str) -> None:
    if is_on():
        _trips().labels(provider, cause).inc()


@cache
def _ledger() -> Any:
    return library().Gauge(
        "kvitok_ledger_breaches",
        "What the last look at the books found to be off",
        ["scope"],
        multiprocess_mode="mostrecent",
    )


def set_breaches(scope: str, count: int) -> None:
    if is_on():
        _ledger().labels(scope).set(count)
