"""Rows as one parameter: all of them arrive, with their types, and few are expected."""

from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID, uuid4

import orjson
import pytest
from django.db import DataError, connection

from storage.statements.json_rows import dump_rows, json_rows
from storage.statements.single_statement import fetch_rows

pytestmark = pytest.mark.django_db
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
    return fetch_rows(f"SELECT n.* FROM {ROWS}", {"rows": text}, Row)  # noqa: S608 - ours


def test_values_arrive_as_they_were() -> None:
    row = Row(uuid4(), "«Ёж» \\ \" ' {} %s\n", AT, 2**62, is_true=False)

    assert sent(row, Row(row.id, None, None, None, None)) == [row, Row(row.id, *[None] * 4)]


@pytest.mark.parametrize("many", [0, 1, 11, 500])
def test_limit_excludes_no_row(many: int) -> None:
    assert len(sent(*[Row(uuid4(), "", None, number, None) for number in range(many)])) == many


def test_word_that_no_column_can_hold_is_a_data_error() -> None:
    with pytest.raises(DataError):
        sent(Row(uuid4(), "a\0b", None, None, None))


def test_planner_expects_few_rows() -> None:
    """With more rows it would not look each up by an index."""
    with connection.cursor() as cursor:
        statement = f"SELECT n.* FROM {ROWS}".replace("%(rows)s", "$1")  # noqa: S608
        cursor.execute(f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {statement}")
        (found,) = cursor.fetchone()

    plan = found if isinstance(found, list) else orjson.loads(found)
    assert plan[0]["Plan"]["Plan Rows"] <= 10
