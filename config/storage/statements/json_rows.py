"""Rows given to a statement as one parameter of JSON.

An array for each column costs two to four times as much: psycopg writes every value of it in
Python, and the server parses as many parameters as there are columns.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson


def json_rows(parameter: str, columns: str) -> str:
    """The table `n` of a FROM clause: `columns` are names with types, `parameter` is named so.

    The limit excludes no row. PostgreSQL expects 100 of a JSON array, as too many to look each up
    by an index, but a tenth of that within a limit that it cannot know, as it does of an array.
    """
    given = f"%({parameter})s::json"
    return (
        f"(SELECT * FROM json_to_recordset({given}) AS n({columns})"  # noqa: S608 - constants
        f" LIMIT json_array_length({given})) AS n"
    )


def dump_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    return orjson.dumps(rows).decode()
