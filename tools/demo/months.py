"""Partitions of earlier months than the service has created, for a generated history."""

from datetime import date

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from storage.months.calendar import next_month
from storage.months.partitions import LOCK_TIMEOUT, TABLES, MonthlyTable, bound, month_named
from tools.queries import queries

_OLDEST = queries(__file__)["oldest"].text


def create_earlier(first: date) -> int:
    """Creates the partitions from this month on where missing; returns their number."""
    return sum(_create_months_of(table, first.replace(day=1)) for table in TABLES)


@transaction.atomic
def _create_months_of(table: MonthlyTable, first: date) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
        cursor.execute(_OLDEST, [table.name])
        oldest, bounds = cursor.fetchone()
        months = _months(first, month_named(oldest))
        if not months or _has_earlier_rows(cursor, table, oldest):
            return 0
        until = bounds.rsplit("TO (", 1)[1].rstrip(")")
        _reattach(cursor, table, oldest, bound(table, month_named(oldest)), until)
        for month in months:
            cursor.execute("SELECT create_month_partition(%s::regclass, %s)", [table.name, month])
        until = bound(table, next_month(first))
        _reattach(cursor, table, f"{table.name}_{first:%Y_%m}", "MINVALUE", until)
        return len(months)


def _has_earlier_rows(cursor: CursorWrapper, table: MonthlyTable, oldest: str) -> bool:
    start = bound(table, month_named(oldest))
    cursor.execute(f"SELECT EXISTS (SELECT FROM {oldest} WHERE {table.key} < {start})")  # noqa: S608
    return bool(cursor.fetchone()[0])


def _reattach(
    cursor: CursorWrapper, table: MonthlyTable, partition: str, since: str, until: str
) -> None:
    cursor.execute(f"ALTER TABLE {table.name} DETACH PARTITION {partition}")
    cursor.execute(
        f"ALTER TABLE {table.name} ATTACH PARTITION {partition}"
        f" FOR VALUES FROM ({since}) TO ({until})"
    )


def _months(first: date, end: date) -> list[date]:
    months = []
    while first < end:
        months.append(first)
        first = next_month(first)
    return months
