"""PostgreSQL reads the elements that were given, whatever is in them."""

from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID, uuid4

import orjson
import pytest
from django.db import DataError, connection

from storage.statements.json_rows import array_text, dump_rows, json_rows
from storage.statements.named_rows import fetch_all
from storage.statements.single_statement import fetch_rows

pytestmark = pytest.mark.django_db

TEXTS = [
    "",
    "a",
    "NULL",
    "a,b",
    "{a}",
    '"',
    "\\",
    '\\"',
    "\\x61",
    " a ",
    "a\nb\t",
    "это",
    "%s",
    "'",
]
BYTES = [b"", b"a", bytes(range(256)), b'"\\']


class Read(NamedTuple):
    texts: list[str]
    octets: list[bytes]


def read(texts: list[str], octets: list[bytes]) -> Read:
    statement = "SELECT %s::text[] AS texts, %s::bytea[] AS octets"
    (row,) = fetch_rows(statement, [array_text(texts), array_text(octets)], Read)
    return row


@pytest.mark.django_db
def test_elements_are_read_as_given() -> None:
    assert read(TEXTS, BYTES) == Read(TEXTS, BYTES)


@pytest.mark.django_db
def test_array_may_be_empty() -> None:
    assert read([], []) == Read([], [])


AT = datetime(2026, 1, 31, 10, 0, 0, 123456, tzinfo=UTC)
ROWS = json_rows("rows", "id uuid, word text, at timestamptz, number bigint, is_true bool")


class Row(NamedTuple):
    id: UUID
    word: str | None
    at: datetime | None
    number: int | None
    is_true: bool | None


def sent(*rows: Row) -> list[Row]:
    text = dump_rows([row._asdict() for row in rows])
    return fetch_rows(f"SELECT given.* FROM {ROWS}", {"rows": text}, Row)  # noqa: S608 - ours


def test_values_arrive_as_they_were() -> None:
    row = Row(uuid4(), "«Ёж» \\ \" ' {} %s\n", AT, 2**62, is_true=False)

    assert sent(row, Row(row.id, None, None, None, None)) == [row, Row(row.id, *[None] * 4)]


@pytest.mark.parametrize("count", [0, 1, 11, 500])
def test_limit_excludes_no_row(count: int) -> None:
    assert len(sent(*[Row(uuid4(), "", None, number, None) for number in range(count)])) == count


def test_word_that_no_column_can_hold_is_a_data_error() -> None:
    with pytest.raises(DataError):
        sent(Row(uuid4(), "a\0b", None, None, None))


def test_planner_expects_few_rows() -> None:
    """With more rows it would not look each up by an index."""
    with connection.cursor() as cursor:
        statement = f"SELECT given.* FROM {ROWS}".replace("%(rows)s", "$1")  # noqa: S608
        cursor.execute(f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {statement}")
        (result,) = cursor.fetchone()

    plan = result if isinstance(result, list) else orjson.loads(result)
    assert plan[0]["Plan"]["Plan Rows"] <= 10


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
