"""The monthly partitions of the clicks: created before they are needed, dropped when old."""

from datetime import UTC, date, timedelta

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from storage import advisory_locks
from storage.months.calendar import month_of, next_month
from storage.months.partitions import month_named
from storage.statements.queries import execute, fetch_column

CREATE_LOCK = 0x6B766C70  # an advisory lock: IF NOT EXISTS alone lets two sessions collide
_CREATE = """
CREATE TABLE IF NOT EXISTS links_click_{year}_{month:02} PARTITION OF links_click
FOR VALUES FROM ('{first}') TO ('{next}')
"""
_MONTHS = "SELECT relid::regclass::text FROM pg_partition_tree('links_click') WHERE isleaf"

_created: set[date] = set()


def ensure(*months: date) -> None:
    """Creates the partitions of these months; checks once per process."""
    for month in set(months) - _created:
        is_kept = not connection.in_atomic_block  # a rollback drops the table
        with transaction.atomic():
            advisory_locks.lock(CREATE_LOCK)
            execute(
                _CREATE.format(
                    year=month.year,
                    month=month.month,
                    first=_midnight(month),
                    next=_midnight(next_month(month)),
                )
            )
        if is_kept:
            _created.add(month)


def ensure_upcoming() -> None:
    this = month_of(timezone.now(), UTC)
    ensure(this, next_month(this))


def drop_old() -> int:
    """Drops the months whose last click is older than RAW_RETENTION days; returns their number."""
    oldest = timezone.now() - timedelta(days=settings.RAW_RETENTION)
    names = fetch_column(_MONTHS)
    old = [name for name in names if next_month(month_named(name)) <= oldest.date()]
    for name in old:
        execute(f'DROP TABLE "{name}"')
        _created.discard(month_named(name))
    return len(old)


def rotate(_limit: int) -> int:
    """Creates the upcoming months and drops old ones, hourly."""
    ensure_upcoming()
    return drop_old()


def _midnight(month: date) -> str:
    return f"{month.isoformat()} 00:00:00+00"
