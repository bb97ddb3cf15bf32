"""A copy of a month, in a schema of its own: what is dumped, and what a restore brings back.

Nothing that could be about a person is in it: every column that an erasure empties is left out, but
the phones of messages and codes, of which it has the prefix alone. So archives need no erasures.
Its tables have the names of the service's own, and none of their functions, triggers or types: any
PostgreSQL can restore them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date

from django.db import connection, transaction

from config.storage.months.calendar import next_month
from config.storage.months.closed_months import partition
from operator_admin.backup.book_sums import DIGEST
from persons.columns import ERASED

MONTHLY = ("channels_message", "channels_attempt", "otp_verification", "billing_transfer")
# The rows of a month are found by their message; those of earlier months are gone already.
BY_MESSAGE = ("channels_fallbackevent",)
# Of receipts and events the purge leaves nothing for so long: they are dropped, and have no copy.
TABLES = (*MONTHLY, *BY_MESSAGE)

_PREFIX = r"CASE WHEN phone ~ '^\+?[0-9]{0,5}\*$' THEN phone ELSE '' END AS phone"
_COLUMNS = """
SELECT string_agg(CASE attname WHEN 'phone' THEN %s ELSE quote_ident(attname) END, ', '
  ORDER BY attnum)
FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attname <> ALL(%s)
"""


def schema(month: date) -> str:
    return f"archive_{month:%Y_%m}"


@transaction.atomic
def create(month: date) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE SCHEMA {schema(month)}")
        for table in TABLES:
            cursor.execute(f"CREATE TABLE {schema(month)}.{table} AS {_rows(table, month)}")
        cursor.execute(
            f"CREATE INDEX ON {schema(month)}.billing_transfer (company_id, created_at, id)"
        )


@transaction.atomic
def drop(month: date) -> None:
    """Waits for a program that a killed run left behind: nobody else reads the copy."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '15min'")
        cursor.execute(f"DROP SCHEMA IF EXISTS {schema(month)} CASCADE")


def differences(month: date) -> list[str]:
    """Tables of which the copy has not exactly the rows."""
    return [
        table
        for table in TABLES
        if _digest(f"{schema(month)}.{table}") != _digest(f"({_rows(table, month)})")
    ]


@contextmanager
def visible(month: date) -> Iterator[None]:
    """The copy's tables in place of the service's own, for statements that only read."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        cursor.execute(f"SET LOCAL search_path = {schema(month)}, public")
        yield


def delete_originals(month: date) -> None:
    """Of the tables that have other months as well: nobody waits for these rows."""
    with connection.cursor() as cursor:
        for table in BY_MESSAGE:
            cursor.execute(f"DELETE FROM {table} WHERE {_condition(month)}")  # noqa: S608


def _condition(month: date) -> str:
    return f"message_id < uuid7_at('{next_month(month):%Y-%m-%d} 00:00+00')"


def _rows(table: str, month: date) -> str:
    left_out = [name for name in ERASED.get(table, "").split() if name != "phone"]
    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS, [_PREFIX, table, left_out])
        (columns,) = cursor.fetchone()
    if table in MONTHLY:
        return f"SELECT {columns} FROM {partition(table, month)}"  # noqa: S608 - names of ours
    return f"SELECT {columns} FROM {table} WHERE {_condition(month)}"  # noqa: S608


def _digest(rows: str) -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*), {DIGEST} FROM {rows} t")  # noqa: S608
        count, digest = cursor.fetchone()
    return int(count), int(digest)
