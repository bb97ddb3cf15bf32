"""Prometheus metrics of an edge. Off, at no cost, without METRICS_PORT."""

from functools import cache
from typing import Any, NamedTuple

from django.conf import settings

from config.monitoring import metrics
from config.once import Once


class EdgeMetrics(NamedTuple):
    answers: Any
    origin: Any
    age: Any
    delayed: Any


@Once
def _metrics() -> EdgeMetrics | None:
    """None where nothing is counted."""
    library = metrics.start_library()
    return library and EdgeMetrics(
        answers=library.Counter("kvitok_edge_answers", "Answers to visitors", ["status"]),
        origin=library.Histogram(
            "kvitok_edge_origin_seconds",
            "Calls to the origin, by what came of them",
            ["call", "result"],
            buckets=metrics.LATENCIES,
        ),
        age=library.Gauge(
            "kvitok_edge_replica_age_seconds",
            "Since the origin read what the replica knows of stops",
            multiprocess_mode="mostrecent",
        ),
        delayed=library.Gauge(
            "kvitok_edge_clicks_delayed",
            "Clicks that wait for the master of Redis, in the process that looked last",
            multiprocess_mode="mostrecent",
        ),
    )


@cache
def _answers_child(status: str) -> Any:
    found = _metrics()
    return found and found.answers.labels(status)


def count_answer(status: str) -> None:
    if settings.METRICS_PORT is not None and (child := _answers_child(status[:3])):
        child.inc()


def count_call(call: str, result: str, seconds: float) -> None:
    if found := _metrics():
        found.origin.labels(call.rpartition("/")[2], result).observe(seconds)


def set_state(replica_age: float, delayed_clicks: int) -> None:
    if found := _metrics():
        found.age.set(replica_age)
        found.delayed.set(delayed_clicks)
