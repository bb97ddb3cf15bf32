"""The database's connection, for those in front of Django: no request's end gives theirs back."""

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
