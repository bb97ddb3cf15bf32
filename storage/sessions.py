"""PostgreSQL sessions outside Django's requests: from the pool, or past a pooler; its clock."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar, cast

import psycopg
from django.db import OperationalError, connection, transaction
from django.db.backends.utils import CursorWrapper
from psycopg.errors import QueryCanceled

PAUSES = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)  # seconds: a restart of the database is over by then
T = TypeVar("T")


def release_connection() -> None:
    """Returns the connection to the pool before a wait for others; a transaction keeps it."""
    if not connection.in_atomic_block:
        connection.close()


@contextmanager
def pooled_connection() -> Iterator[None]:
    try:
        yield
    finally:
        release_connection()


def read_with_retries(read: Callable[[], T]) -> T:
    """Repeats an idempotent read while the database is unavailable.

    The connection is given back each time, even a broken one.
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


def connect() -> psycopg.Connection[Any]:
    """A new session with PostgreSQL itself, outside our pool and any pooler."""
    params = connection.settings_dict.get("DIRECT") or connection.get_connection_params()
    return psycopg.connect(**params, autocommit=True)


def has_direct_address() -> bool:
    """Whether the settings say that DATABASE_URL leads to a pooler."""
    return "DIRECT" in connection.settings_dict


def is_pooled() -> bool:
    """Whether there is a pooler between Django's connection and PostgreSQL.

    A pooler gives its clients backend process ids that no session of the server has.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (actual,) = cursor.fetchone()
    return bool(actual != connection.connection.info.backend_pid)


def database_now() -> datetime:
    """The database's time, in one round trip; within a transaction later than its start."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    return cast(datetime, now)


_WITHOUT_SORTS = "SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off"
_WITH_SORTS = "SET LOCAL enable_sort = DEFAULT; SET LOCAL enable_bitmapscan = DEFAULT"


@contextmanager
def in_index_order() -> Iterator[CursorWrapper]:
    """Disables sorts and bitmap scans, in a transaction or a savepoint of the caller's."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_WITHOUT_SORTS)
        yield cursor
        cursor.execute(_WITH_SORTS)
