"""Rows of raw SQL, whose columns have names."""

from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
from django.db.backends.utils import CursorWrapper

Row = TypeVar("Row")
Cursor = CursorWrapper | psycopg.Cursor[Any]  # Django's or psycopg's own


def fetch_all(cursor: Cursor, make: Callable[..., Row]) -> list[Row]:
    """Calls `make` with the columns of each row as keyword arguments."""
    names = _column_names(cursor)
    return [make(**dict(zip(names, row, strict=True))) for row in cursor.fetchall()]


def fetch_one(cursor: Cursor, make: Callable[..., Row]) -> Row | None:
    """Calls `make` with the columns of the first row; None if there is none."""
    row = cursor.fetchone()
    if row is None:
        return None
    return make(**dict(zip(_column_names(cursor), row, strict=True)))


def _column_names(cursor: Cursor) -> list[str]:
    # From libpq's result, since `description` creates an object for each column.
    result: Any = cursor.pgresult
    return [result.fname(column).decode() for column in range(result.nfields)]
