"""Months before the first one, for history that is written afterwards; not on the way of a send.

The oldest partition of a table takes every earlier row. While it has none of an earlier month, the
months before it get partitions of their own, and the first of these takes every earlier row.
"""

from datetime import UTC, date, datetime, timedelta

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from config.ids import first_id_at
from config.storage.months.partitions import LOCK_TIMEOUT, TABLES, MonthlyTable, is_partitioned

_OLDEST = """
SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = %s::regclass AND c.relname ~ '_[0-9]{4}_[0-9]{2}$' ORDER BY c.relname LIMIT 1"""


def create(first: date) -> int:
    """Creates the partitions from this month on where missing; returns their number."""
    return sum(
        _create(table, first.replace(day=1)) for table in TABLES if is_partitioned(table.name)
    )


@transaction.atomic
def _create(table: MonthlyTable, first: date) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
        cursor.execute(_OLDEST, [table.name])
        oldest, bounds = cursor.fetchone()
        months = _months(first, _month_named(oldest))
        if not months or _has_earlier_rows(cursor, table, oldest):
            return 0
        until = bounds.rsplit("TO (", 1)[1].rstrip(")")
        _reattach(cursor, table, oldest, _bound(table, _month_named(oldest)), until)
        for month in months:
            cursor.execute("SELECT create_month_partition(%s::regclass, %s)", [table.name, month])
        until = _bound(table, _next(first))
        _reattach(cursor, table, f"{table.name}_{first:%Y_%m}", "MINVALUE", until)
        return len(months)


def _has_earlier_rows(cursor: CursorWrapper, table: MonthlyTable, oldest: str) -> bool:
    bound = _bound(table, _month_named(oldest))
    cursor.execute(f"SELECT EXISTS (SELECT FROM {oldest} WHERE {table.key} < {bound})")  # noqa: S608
    return bool(cursor.fetchone()[0])


def _reattach(
    cursor: CursorWrapper, table: MonthlyTable, partition: str, since: str, until: str
) -> None:
    cursor.execute(f"ALTER TABLE {table.name} DETACH PARTITION {partition}")
    cursor.execute(
        f"ALTER TABLE {table.name} ATTACH PARTITION {partition}"
        f" FOR VALUES FROM ({since}) TO ({until})"
    )


def _bound(table: MonthlyTable, month: date) -> str:
    at = datetime(month.year, month.month, 1, tzinfo=UTC)
    return f"'{at.isoformat() if table.key.endswith('_at') else first_id_at(at)}'"


def _months(first: date, end: date) -> list[date]:
    found = []
    while first < end:
        found.append(first)
        first = _next(first)
    return found


def _next(month: date) -> date:
    return (month + timedelta(days=31)).replace(day=1)


def _month_named(partition: str) -> date:
    year, month = partition.rsplit("_", 2)[1:]
    return date(int(year), int(month), 1)
