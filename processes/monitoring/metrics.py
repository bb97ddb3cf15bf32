"""Prometheus metrics of every process. Without METRICS_PORT they are off and free.

Every process writes its own files under METRICS_DIR; `manage.py run_metrics` adds them up. Values
that are in the database are not counted here, but queried at each scrape.

The sum over all processes must not decrease, or Prometheus would see a counter reset and count the
whole sum again. So a process takes a free slot with the files of its last holder. Each slot has a
lock, which the kernel releases however the process ends. Pids would not work: every container may
have a pid 7.
"""

import fcntl
import os
import struct
import tomllib
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import structlog
from django.conf import settings
from django.utils.crypto import salted_hmac

from processes.process_state import Once

_PROJECT = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text(encoding="utf-8"))
RELEASE: str = _PROJECT["project"]["version"]
TYPES = ("counter", "histogram", "gauge_mostrecent")  # in prometheus_client's file names
SIZE = 2**19  # bytes of a file, preallocated: with mmap a full disk would kill the process


class Slot:
    """A number that no other live process has; raises OSError if the directory is not writable."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._take()
        os.register_at_fork(after_in_child=self._take)

    @property
    def name(self) -> str:
        """The suffix of this process's files: `counter_<name>.db`."""
        return _name(self._number)

    def _take(self) -> None:
        """Takes the first free slot, and deletes other releases' files in every free one."""
        self._lock: TextIO | None = None
        for number in count():
            path = self._directory / f"{number}.lock"
            if self._lock and not path.exists():
                break
            if (lock := _lock(path)) is None:
                continue
            self._clean(number)
            if self._lock is None:
                self._lock = lock
                self._number = number
            else:
                lock.close()
        for type_ in TYPES:
            _reserve(self._directory / f"{type_}_{self.name}.db")

    def _clean(self, number: int) -> None:
        """Deletes files of other releases and damaged ones: one would break the page."""
        for file in self._directory.glob(f"*-{number}.db"):
            if not file.stem.endswith(f"_{_name(number)}") or not _is_readable(file):
                file.unlink()


def _name(number: int) -> str:
    return f"{RELEASE}-{number}"


def _lock(path: Path) -> TextIO | None:
    """Locks the file while it stays open; None if another process holds the lock."""
    file = path.open("a", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def _is_readable(file: Path) -> bool:
    from prometheus_client.mmap_dict import MmapedDict  # noqa: PLC0415 - only if metrics are on

    untyped: Any = MmapedDict
    with suppress(RuntimeError, ValueError, struct.error):
        return all(untyped.read_all_values_from_file(file))
    return False


def _reserve(file: Path) -> None:
    """Creates the file atomically: a reader of an empty file would fail."""
    if not file.exists():
        unfinished = file.with_suffix(".new")
        unfinished.write_bytes(bytes(SIZE))
        unfinished.replace(file)


log = structlog.get_logger(__name__)

_LATENCIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)  # seconds


class Metrics(NamedTuple):
    api: Any
    messages: Any
    provider: Any
    trips: Any
    breaches: Any


def directory() -> Path:
    """The directory of this service's slots, named by its SECRET_KEY: no other service has it."""
    service = salted_hmac(__name__, "service", algorithm="sha256").hexdigest()[:16]
    settings.METRICS_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    path: Path = settings.METRICS_DIR / service
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def start() -> None:
    """Takes over a dead process's files at the start of this one, not at the first count."""
    _metrics()


@Once
def _metrics() -> Metrics | None:
    """The metrics; None if nothing is counted. Registering a metric a second time would raise."""
    if settings.METRICS_PORT is None:
        return None
    try:
        library = _library()
    except OSError:
        # No request or message may fail because it cannot be counted.
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
            "Calls to a provider, by result",
            ["provider", "result"],
            buckets=_LATENCIES,
        ),
        trips=library.Counter(
            "kvitok_breaker_trips", "Times an account's breaker opened", ["provider", "cause"]
        ),
        breaches=library.Gauge(
            "kvitok_ledger_breaches",
            "Discrepancies found by the last check of the ledger",
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
    """The counter of a call and status, cached: the library's lookup costs as much as counting."""
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
