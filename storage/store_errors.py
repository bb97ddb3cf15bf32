"""Classifies errors of a store: it is unavailable, or it refuses the input."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

import psycopg
from django.db import (
    DatabaseError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    connection,
    transaction,
)
from psycopg.errors import RaiseException
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

Row = TypeVar("Row")
_DATABASE = (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)
# Faults of the session, the statement or the schema, not of the row: an ended transaction, a plan
# or a column that a migration changed in the meantime.
_STATEMENT = (
    InternalError,
    NotSupportedError,
    ProgrammingError,
    psycopg.InternalError,
    psycopg.NotSupportedError,
    psycopg.ProgrammingError,
)


def is_refusal(error: Exception) -> bool:
    """Whether the store rejected these rows.

    It did not if it is unavailable, busy or locked, or if it rejected the statement itself, which
    then wrote nothing.
    """
    if isinstance(error.__cause__ or error, RaiseException):  # a trigger rejected this row
        return True
    return not isinstance(error, (*_DATABASE, *_STATEMENT, RedisError, OSError))


def is_refused_by_database(error: Exception) -> bool:
    """Whether the database refused the row; for data that must not be lost.

    An error of our own code says nothing about the row, since every row would raise it.
    """
    return isinstance(error, DatabaseError) and is_refusal(error)


def is_outage(error: Exception) -> bool:
    """Whether the store is down, so that nothing else would succeed now either."""
    if isinstance(error, RedisConnectionError | RedisTimeoutError):
        return True
    return isinstance(error, _DATABASE) and not connection.is_usable()


def savepoint() -> AbstractContextManager[object]:
    """A savepoint, rolled back if its body raises; nothing outside of transactions."""
    return transaction.atomic() if connection.in_atomic_block else nullcontext()


def write_together(
    rows: Sequence[Row],
    write: Callable[[Sequence[Row]], object],
    refused: Callable[[Row, Exception], object],
    is_refused: Callable[[Exception], bool] = is_refusal,
) -> None:
    """Writes all rows at once, and refused batches by halves, so that no row affects another.

    `write` is one commit, or part of the caller's; `refused` is called with each refused row by
    itself.
    """
    if not rows:
        return
    try:
        with savepoint():
            write(rows)
    except Exception as error:
        if not is_refused(error):
            raise
        if len(rows) == 1:
            refused(rows[0], error)
            return
        middle = len(rows) // 2
        write_together(rows[:middle], write, refused, is_refused)
        write_together(rows[middle:], write, refused, is_refused)
