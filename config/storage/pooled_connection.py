"""Database connections for code outside Django's request cycle, returned to the pool after use."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.db import OperationalError, connection
from psycopg.errors import QueryCanceled

PAUSES = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)  # seconds: a restart of the database is over by then
T = TypeVar("T")


@contextmanager
def pooled_connection() -> Iterator[None]:
    try:
        yield
    finally:
        if not connection.in_atomic_block:
            connection.close()  # to the pool


def read_patiently(read: Callable[[], T]) -> T:
    """The result of a read that may be repeated; repeats it while the database is away.

    The connection is given back each time, a broken one included.
    """
    for pause in PAUSES:
        try:
            with pooled_connection():
                return read()
        except OperationalError as error:
            if connection.in_atomic_block or isinstance(error.__cause__, QueryCanceled):
                raise
            time.sleep(pause)
    with pooled_connection():
        return read()
