"""A database connection for code outside Django's request cycle, returned to the pool after use."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def pooled_connection() -> Iterator[None]:
    try:
        yield
    finally:
        if not connection.in_atomic_block:
            connection.close()  # to the pool
