"""Gives rows and arrays to a statement as one parameter, of JSON or of text.

psycopg dumps lists in Python, which costs 20 to 40 µs each; an array for each column costs two to
four times as much as JSON, and makes the server parse one parameter per column.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import orjson
from django.db import DataError


class Numbered(Protocol):
    @property
    def number(self) -> int: ...


Row = TypeVar("Row", bound=Numbered)


def json_rows(parameter: str, columns: str) -> str:
    """The table `given` of a FROM clause, read from the JSON of `parameter`.

    `columns` are names with types. The limit excludes no row: it makes PostgreSQL expect ten rows
    instead of a hundred, so that it looks them up by indexes.
    """
    array = f"%({parameter})s::json"
    return (
        f"(SELECT * FROM json_to_recordset({array}) AS given({columns})"  # noqa: S608 - constants
        f" LIMIT json_array_length({array})) AS given"
    )


def dump_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as JSON; raises DataError, as the database does, for values that JSON lacks."""
    try:
        return orjson.dumps(rows).decode()
    except orjson.JSONEncodeError as error:
        raise DataError(str(error)) from error


def bytea(value: bytes) -> str:
    """Bytes as JSON text for a bytea column."""
    return f"\\x{value.hex()}"


def by_number(rows: Iterable[Row], count: int) -> list[Row | None]:
    """Rows 0 to count − 1, in order; None for a missing one."""
    results: list[Row | None] = [None] * count
    for row in rows:
        results[row.number] = row
    return results


def array_text(values: Iterable[str | bytes]) -> str:
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: str | bytes) -> str:
    text = f"\\x{value.hex()}" if isinstance(value, bytes) else value
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
