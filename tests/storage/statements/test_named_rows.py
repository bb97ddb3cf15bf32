"""Columns map to fields by name, whatever their order in the statement."""

from typing import NamedTuple

import pytest
from django.db import connection

from storage.statements.named_rows import fetch_all

pytestmark = pytest.mark.django_db


class Pair(NamedTuple):
    left: int
    right: str


def test_columns_are_matched_by_name() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 'a' || n AS right, n AS left FROM generate_series(1, 2) AS n")

        assert fetch_all(cursor, Pair) == [Pair(1, "a1"), Pair(2, "a2")]


def test_column_without_a_field_is_an_error() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 AS left, 'a' AS middle")

        with pytest.raises(TypeError, match="middle"):
            fetch_all(cursor, Pair)
