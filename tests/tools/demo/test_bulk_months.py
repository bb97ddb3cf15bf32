"""Months that are filled without indexes: afterwards they are as they were, but for their rows."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from catalogue.ids import first_id_at
from tools.demo import months

pytestmark = pytest.mark.django_db
TABLES = ("channels_message", "channels_attempt", "otp_verification", "billing_transfer")
_INDEXES = "SELECT indexdef FROM pg_indexes WHERE tablename = %s"
_PARTS = """
SELECT pg_get_expr(c.relpartbound, c.oid), c.reloptions,
  (SELECT array_agg(conname || pg_get_constraintdef(oid) ORDER BY conname) FROM pg_constraint
   WHERE conrelid = c.oid AND contype NOT IN ('p', 'u')),
  (SELECT array_agg(tgname ORDER BY tgname) FROM pg_trigger WHERE tgrelid = c.oid),
  (SELECT array_agg(attname || attidentity::text || atthasdef::text ORDER BY attnum)
   FROM pg_attribute WHERE attrelid = c.oid)
FROM pg_class c WHERE relname = %s"""


def rows(query: str, *params: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(query, params)
        return list(cursor.fetchall()) if cursor.description else []


def this_month() -> date:
    return timezone.now().astimezone(UTC).date().replace(day=1)


def shape(table: str) -> tuple[list[tuple[bool, str]], list[Any]]:
    """Its indexes without their names, and the rest."""
    found = [definition for (definition,) in rows(_INDEXES, table)]
    indexes = sorted((each.startswith("CREATE UNIQUE"), each.split(" USING ")[1]) for each in found)
    return indexes, rows(_PARTS, table)


@pytest.mark.parametrize("table", TABLES)
def test_month_is_as_it_was(table: str) -> None:
    partition = f"{table}_{this_month():%Y_%m}"
    before = shape(partition)

    with months.detached(this_month(), *TABLES) as into:
        assert into[table] == partition
        assert shape(partition)[0] == []

    assert shape(partition) == before


def test_its_rows_are_those_of_the_table() -> None:
    at = datetime.combine(this_month(), datetime.min.time(), UTC) + timedelta(hours=1)
    columns = "(company_id, kind, amount, message_id, hold, proof, reason)"
    transfer = f"{columns} VALUES (1, 'hold', 5, %s, 1, '', '')"

    with months.detached(this_month(), "billing_transfer") as into:
        rows(f"INSERT INTO {into['billing_transfer']} {transfer}", first_id_at(at))
    rows(f"INSERT INTO billing_transfer {transfer}", first_id_at(at + timedelta(hours=1)))

    first, second = rows("SELECT id, tableoid::regclass::text FROM billing_transfer ORDER BY id")
    assert first[0] < second[0]
    assert first[1] == second[1] == f"billing_transfer_{this_month():%Y_%m}"


def test_nobody_waits_for_a_month_that_is_filled() -> None:
    with psycopg.connect(**connection.get_connection_params() | {"autocommit": True}):
        assert not months.is_possible(this_month(), TABLES)


def test_only_a_month_with_partitions_is_filled() -> None:
    assert not months.is_possible(date(2020, 1, 1), TABLES)
    assert not months.is_possible(this_month(), ("channels_message", "links_link"))
