"""Settings of the session that this thread's connection has with PostgreSQL."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def session_setting(name: str, value: str) -> Iterator[None]:
    """Sets one and puts it back: closing a connection returns it to the pool as it is."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET {name} = {value}")
    try:
        yield
    finally:
        if connection.connection is not None and connection.connection.closed:
            connection.close()  # the pool drops a session that has ended
        else:
            with connection.cursor() as cursor:
                cursor.execute(f"RESET {name}")
