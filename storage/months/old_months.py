"""Finds, detaches and drops old months of the tables, which only the tables' owner can do."""

from collections.abc import Iterator
from datetime import UTC, date, datetime

from storage.months.calendar import month_of, previous_month
from storage.months.partitions import TABLES, month_named, partition
from storage.statements.queries import execute, fetch_column, fetch_value

_ATTACHED = """
SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
WHERE inhparent = ANY(%s::regclass[]) AND relname ~ '_[0-9]{4}_[0-9]{2}$'
"""
_IS_ATTACHED = "SELECT relispartition FROM pg_class WHERE oid = to_regclass(%s)"
# The service's lock order: a session that waits for us holds nothing that we wait for.
LOCK_ORDER = (
    "otp_verification",
    "channels_message",
    "channels_attempt",
    "channels_receipt",
    "billing_transfer",
    "webhooks_event",
)


def newest_to_archive(months: int, now: datetime) -> date:
    """The newest month that ended `months` whole months before this one began."""
    month = month_of(now, UTC)
    for _number in range(months + 1):
        month = previous_month(month)
    return month


def attached_months() -> list[date]:
    """Months with an attached partition of any table, ascending.

    A table's first partition also has all earlier rows.
    """
    return sorted(
        {month_named(name) for name in fetch_column(_ATTACHED, [[table.name for table in TABLES]])}
    )


def is_attached(table: str, month: date) -> bool | None:
    """Whether the partition is attached; None if there is no such table."""
    is_attached: bool | None = fetch_value(_IS_ATTACHED, [f"public.{partition(table, month)}"])
    return is_attached


def detach(month: date) -> None:
    """Detaches a month in the caller's transaction, which blocks all others until it ends.

    CONCURRENTLY works neither with a default partition nor for six tables at once.
    """
    for table in LOCK_ORDER:
        execute(f"LOCK TABLE ONLY {table} IN ACCESS EXCLUSIVE MODE")
    for table in LOCK_ORDER:
        execute(f"ALTER TABLE {table} DETACH PARTITION {partition(table, month)}")


def drop(month: date) -> None:
    """Drops a detached month; raises if a table of the month is still a partition."""
    for table in _detached(month):
        execute(f"DROP TABLE {table}")


def _detached(month: date) -> Iterator[str]:
    for table in LOCK_ORDER:
        state = is_attached(table, month)
        if state:
            raise RuntimeError(f"{partition(table, month)} is attached")
        if state is False:
            yield partition(table, month)
