"""Takes months out of the partitioned tables. Only the tables' owner can."""

from collections.abc import Iterator
from datetime import UTC, date, datetime

from django.db import connection

from config.storage.months.calendar import month_of, previous_month
from config.storage.months.partitions import TABLES, month_named

_ATTACHED = """
SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = ANY(%s::regclass[]) AND c.relname ~ '_[0-9]{4}_[0-9]{2}$'
"""
_IS_ATTACHED = "SELECT relispartition FROM pg_class WHERE oid = to_regclass(%s)"
# The order in which the service locks them: whoever waits for us holds nothing that we wait for.
LOCK_ORDER = (
    "otp_verification",
    "channels_message",
    "channels_attempt",
    "channels_receipt",
    "billing_transfer",
    "accounts_event",
)


def partition(table: str, month: date) -> str:
    return f"{table}_{month:%Y_%m}"


def newest_to_archive(kept: int, now: datetime) -> date:
    """The newest month that ended `kept` whole months before this one began."""
    month = month_of(now, UTC)
    for _number in range(kept + 1):
        month = previous_month(month)
    return month


def attached_months() -> list[date]:
    """Ascending; of any table. The first one of a table also holds all that is earlier."""
    with connection.cursor() as cursor:
        cursor.execute(_ATTACHED, [[table.name for table in TABLES]])
        return sorted({month_named(name) for (name,) in cursor.fetchall()})


def is_attached(table: str, month: date) -> bool | None:
    """None: there is no such table."""
    with connection.cursor() as cursor:
        cursor.execute(_IS_ATTACHED, [f"public.{partition(table, month)}"])
        row = cursor.fetchone()
    return None if row is None else bool(row[0])


def detach(month: date) -> None:
    """In the caller's transaction, which holds up everybody from here to its end. Not CONCURRENTLY:
    that works neither beside a default partition nor for six tables at once.
    """
    with connection.cursor() as cursor:
        for table in LOCK_ORDER:
            cursor.execute(f"LOCK TABLE ONLY {table} IN ACCESS EXCLUSIVE MODE")
        for table in LOCK_ORDER:
            cursor.execute(f"ALTER TABLE {table} DETACH PARTITION {partition(table, month)}")


def drop(month: date) -> None:
    """Drops what is detached; raises if a table of the month is still a partition."""
    with connection.cursor() as cursor:
        for table in _detached(month):
            cursor.execute(f"DROP TABLE {table}")


def _detached(month: date) -> Iterator[str]:
    for table in LOCK_ORDER:
        state = is_attached(table, month)
        if state:
            raise RuntimeError(f"{partition(table, month)} is attached")
        if state is False:
            yield partition(table, month)
