"""Prometheus metrics of every process. Off, at no cost, without METRICS_PORT.

Every process writes to files of its own under METRICS_DIR; `manage.py run_metrics` adds them up.
What the database knows is not counted here but read from it at the scrape.
"""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import structlog
from django.conf import settings
from django.utils.crypto import salted_hmac

from config.monitoring.metrics_files import Slot
from config.once import Once

log = structlog.get_logger(__name__)

Observe = Callable[[str, int, float], None]
_LATENCIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)  # seconds


class Metrics(NamedTuple):
    api: Any
    messages: Any
    provider: Any
    trips: Any
    breaches: Any


def directory() -> Path:
    """Of this service alone: another one on the machine has another SECRET_KEY."""
    service = salted_hmac(__name__, "service", algorithm="sha256").hexdigest()[:16]
    settings.METRICS_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    path: Path = settings.METRICS_DIR / service
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def start() -> None:
    """At the start of a process: takes over the files of a dead one. Later it would happen by
    itself.
    """
    _metrics()


@Once
def _metrics() -> Metrics | None:
    """None where nothing is counted. To register a metric a second time would raise."""
    if settings.METRICS_PORT is None:
        return None
    try:
        library = _library()
    except OSError:
        # What is counted happened: no request or message may fail for the counting.
        log.exception("metrics_not_written", directory=str(settings.METRICS_DIR))
        return None
    return Metrics(
        api=library.Histogram(
            "kvitok_api_seconds", "API requests", ["call", "status"], buckets=_LATENCIES
        ),
        messages=library.Counter(
            "kvitok_messages", "Messages that reached a state", ["mode", "channel", "state"]
        ),
        provider=library.Histogram(
            "kvitok_provider_seconds",
            "Calls to a provider, by what came of them",
            ["provider", "result"],
            buckets=_LATENCIES,
        ),
        trips=library.Counter(
            "kvitok_breaker_trips", "How often an account's breaker opened", ["provider", "cause"]
        ),
        breaches=library.Gauge(
            "kvitok_ledger_breaches",
            "What the last look at the books found to be off",
            ["scope"],
            multiprocess_mode="mostrecent",
        ),
    )


def _library() -> Any:
    """prometheus_client, imported in multiprocess mode with this process's slot."""
    path = directory()
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(path)
    import prometheus_client  # noqa: PLC0415 - it reads the environment on import
    from prometheus_client import values  # noqa: PLC0415

    slot = Slot(path)
    by_process: Any = values.MultiProcessValue
    values.ValueClass = by_process(lambda: slot.name)
    return prometheus_client


@cache
def _api_child(call: str, status: int) -> Any:
    """Cached: the library's own lookup costs as much as the counting."""
    metrics = _metrics()
    return metrics and metrics.api.labels(call, status)


def count_request(call: str, status: int, seconds: float) -> None:
    if settings.METRICS_PORT is not None and (child := _api_child(call, status)):
        child.observe(seconds)


def count_message(mode: str, channel: str, state: str) -> None:
    if metrics := _metrics():
        metrics.messages.labels(mode, channel, state).inc()


def count_call(provider: str, result: str, seconds: float) -> None:
    if metrics := _metrics():
        metrics.provider.labels(provider, result).observe(seconds)


def count_trip(provider: str, cause: str) -> None:
    if metrics := _metrics():
        metrics.trips.labels(provider, cause).inc()


def set_breaches(scope: str, count: int) -> None:
    if metrics := _metrics():
        metrics.breaches.labels(scope).set(count)
