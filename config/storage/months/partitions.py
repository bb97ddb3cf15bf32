"""Tables partitioned by month, whose months are created before they are needed.

The months of a table follow its partition key: a UUIDv7, whose first 48 bits are a time, or a time
itself. What belongs to a message has the message's id as its key, so a month of messages is a month
of everything about them. Months are those of UTC.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from django.db import OperationalError, connection, transaction
from django.utils import timezone

from config.ids import first_id_at
from config.storage.months.calendar import month_of, next_month, parse_month

MONTHS_AHEAD = 3
LOCK_TIMEOUT = "2s"


@dataclass(frozen=True, slots=True)
class MonthlyTable:
    """`key` is its partition key. Rows whose key is NULL go to a default partition."""

    name: str
    key: str
    has_null_keys: bool = False


TABLES = (
    MonthlyTable("channels_message", "id"),
    MonthlyTable("channels_attempt", "message_id"),
    MonthlyTable("channels_receipt", "received_at"),
    MonthlyTable("otp_verification", "id"),
    MonthlyTable("billing_transfer", "message_id", has_null_keys=True),
    MonthlyTable("accounts_event", "id"),
)

_LAST_MONTHS = """
SELECT p.relname AS table_name, max(c.relname) AS newest
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
WHERE p.relname = ANY(%s) AND c.relname ~ '_[0-9]{4}_[0-9]{2}$' GROUP BY p.relname
"""


def create_upcoming(tables: Sequence[MonthlyTable] = TABLES) -> int:
    """Creates this month's and the next months' partitions where missing; returns their number."""
    return sum(_create(table.name, month) for table in tables for month in _upcoming())


def months_ahead() -> dict[str, int]:
    """By table: how many months after this one exist."""
    names = [table.name for table in TABLES]
    this = month_of(timezone.now(), UTC)
    with connection.cursor() as cursor:
        cursor.execute(_LAST_MONTHS, [names])
        newest = dict(cursor.fetchall())
    return {
        name: _months_between(this, month_named(newest[name]) if name in newest else None)
        for name in names
    }


def _upcoming() -> Iterator[date]:
    month = month_of(timezone.now(), UTC)
    for _number in range(MONTHS_AHEAD + 1):
        yield month
        month = next_month(month)


def _create(table: str, month: date) -> bool:
    """The database's function may do this although the application does not own the table."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
            cursor.execute("SELECT create_month_partition(%s::regclass, %s)", [table, month])
            return bool(cursor.fetchone()[0])
    except OperationalError:  # a long transaction holds the table: the next hour tries again
        return False


def bound(table: MonthlyTable, month: date) -> str:
    """The first partition key of a month, as a literal."""
    at = datetime(month.year, month.month, 1, tzinfo=UTC)
    return f"'{at.isoformat() if table.key.endswith('_at') else first_id_at(at)}'"


def month_named(partition: str) -> date:
    year, month = partition.rsplit("_", 2)[1:]
    return parse_month(f"{year}-{month}")


def _months_between(first: date, last: date | None) -> int:
    return (last.year - first.year) * 12 + last.month - first.month if last else 0
