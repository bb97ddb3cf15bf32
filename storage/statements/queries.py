"""Runs a statement on Django's connection and returns its rows, in one call.

`single_statement` is for the hot calls.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from django.db import connection

from storage.statements.named_rows import fetch_all

Row = TypeVar("Row")
Params = Sequence[Any] | Mapping[str, Any] | None


def execute(statement: str, params: Params = None) -> int:
    """Runs a statement; returns the number of rows that it changed or returned."""
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return int(cursor.rowcount)


def fetch_tuples(statement: str, params: Params = None) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return list(cursor.fetchall())


def fetch_column(statement: str, params: Params = None) -> list[Any]:
    """The only column of the rows."""
    return [value for (value,) in fetch_tuples(statement, params)]


def fetch_value(statement: str, params: Params = None) -> Any:
    """The only column of the only row; None without a row."""
    return next(iter(fetch_column(statement, params)), None)


def select(make: Callable[..., Row], statement: str, params: Params = None) -> list[Row]:
    """Calls `make` with the columns of each row as keyword arguments."""
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return fetch_all(cursor, make)


def select_one(make: Callable[..., Row], statement: str, params: Params = None) -> Row | None:
    """Calls `make` with the columns of the first row; None without a row."""
    return next(iter(select(make, statement, params)), None)
