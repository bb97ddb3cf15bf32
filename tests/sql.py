"""Statements by the connection of this thread."""

from typing import Any

from django.db import connection


def execute(statement: str, params: Any = None) -> list[Any]:
    """The rows of the result, none for a statement that has no result."""
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return list(cursor.fetchall()) if cursor.description else []
