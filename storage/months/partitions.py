"""Partitions of tables by month: created ahead, and analyzed while young.

The partition key is a time, or a UUIDv7, whose first 48 bits are one. Rows that belong to a message
are partitioned by the message's id, so they are in the same month as the message. Months are in
UTC.

Until a partition's first ANALYZE PostgreSQL has no statistics on its ids, and scans all of it for
each lookup; autovacuum comes only once a minute. So a thread of each worker analyzes it, not a
task: tasks also reach workers of an older release, which do not have this one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

import structlog
from django.db import OperationalError, transaction
from django.utils import timezone

from catalogue.ids import first_id_at
from processes.background import PeriodicThread
from storage.months.calendar import month_of, next_month, parse_month
from storage.statements import sql_files
from storage.statements.queries import execute, fetch_column, fetch_tuples, fetch_value

log = structlog.get_logger(__name__)

MONTHS_AHEAD = 3
LOCK_TIMEOUT = "2s"


@dataclass(frozen=True, slots=True)
class MonthlyTable:
    """A partitioned table and its partition `key`; rows without a key go to a default partition."""

    name: str
    key: str
    has_null_keys: bool = False


TABLES = (
    MonthlyTable("channels_message", "id"),
    MonthlyTable("channels_attempt", "message_id"),
    MonthlyTable("channels_receipt", "received_at"),
    MonthlyTable("otp_verification", "id"),
    MonthlyTable("billing_transfer", "message_id", has_null_keys=True),
    MonthlyTable("webhooks_event", "id"),
)

_LAST_MONTHS = """
SELECT parent.relname AS table_name, max(child.relname) AS newest FROM pg_inherits
JOIN pg_class child ON child.oid = inhrelid JOIN pg_class parent ON parent.oid = inhparent
WHERE parent.relname = ANY(%s) AND child.relname ~ '_[0-9]{4}_[0-9]{2}$' GROUP BY parent.relname
"""


def create_upcoming(tables: Sequence[MonthlyTable] = TABLES) -> int:
    """Creates this month's and the next months' partitions where missing; returns their number."""
    return sum(_create(table.name, month) for table in tables for month in _upcoming())


def months_ahead() -> dict[str, int]:
    """The number of months after this one that exist, by table."""
    names = [table.name for table in TABLES]
    this = month_of(timezone.now(), UTC)
    newest = dict(fetch_tuples(_LAST_MONTHS, [names]))
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
    """Creates a partition by a function of the database: the application does not own the table."""
    try:
        with transaction.atomic():
            execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
            return bool(
                fetch_value("SELECT create_month_partition(%s::regclass, %s)", [table, month])
            )
    except OperationalError:  # a long transaction locks the table: tried again in an hour
        return False


def bound(table: MonthlyTable, month: date) -> str:
    """The first partition key of a month, as a literal."""
    at = datetime(month.year, month.month, 1, tzinfo=UTC)
    return f"'{at.isoformat() if table.key.endswith('_at') else first_id_at(at)}'"


def partition(table: str, month: date) -> str:
    return f"{table}_{month:%Y_%m}"


def month_named(partition: str) -> date:
    year, month = partition.rsplit("_", 2)[1:]
    return parse_month(f"{year}-{month}")


def _months_between(first: date, last: date | None) -> int:
    return (last.year - first.year) * 12 + last.month - first.month if last else 0


INTERVAL = 5.0  # seconds
MIN_CHANGES = 100  # rows
MAX_TABLE_ROWS = 100_000  # autovacuum is soon enough for larger tables

_DOUBLED = sql_files.read("storage/months/doubled.sql")


def analyze_doubled() -> list[str]:
    """Analyzes this month's tables while they are young; returns their names."""
    suffix = f"_{timezone.now():%Y_%m}"
    names = [table.name + suffix for table in TABLES]
    doubled = fetch_column(_DOUBLED, [names, MAX_TABLE_ROWS, MIN_CHANGES])
    for name in doubled:
        try:
            execute("SELECT analyze_month_partition(%s::regclass)", [name])
        except OperationalError as error:  # autovacuum or a migration locks it
            log.info("month_not_analyzed", table=name, error=type(error).__name__)
    return doubled


def create_missing_and_analyze() -> None:
    """Creates months at once if this one is missing, and analyzes young ones.

    After a long stop, or in an old copy, every send would otherwise fail until the hourly task.
    """
    if min(months_ahead().values()) < 0:
        create_upcoming()
    analyze_doubled()


def months_thread() -> PeriodicThread:
    return PeriodicThread("months", create_missing_and_analyze, INTERVAL)
