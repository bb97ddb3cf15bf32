"""Runs calls concurrently, each on a thread and a connection of its own."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import connection

T = TypeVar("T")
TIMEOUT = 60.0  # seconds


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Starts all calls at one barrier; returns their results in order."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        barrier.wait(TIMEOUT)
        try:
            return call()
        finally:
            connection.close()

    with _patient_pool(), ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


@contextmanager
def _patient_pool() -> Iterator[None]:
    """Lets any number of threads take turns with the few connections of one process."""
    pools: dict[str, Any] = connection._connection_pools  # type: ignore[attr-defined]
    connections = pools.get(connection.alias)
    if connections is None:  # a test without the database
        yield
        return
    before, connections.timeout = connections.timeout, TIMEOUT
    try:
        yield
    finally:
        connections.timeout = before
