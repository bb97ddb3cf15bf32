"""Aggregates each past day off the send path, so that the overview reads totals.

A day is counted once for all companies, after the last transaction that could belong to it. A
later change (a late receipt, a deadline) marks the day stale, and it is counted anew. A count
replaces the earlier one, so a repeat changes nothing. Today is never counted here: readers add it
from the messages themselves.
"""

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from billing.wallet.settled_totals import settled_totals
from channels import extensions
from channels.models import CountedDay, DayCount, DayTotal
from config.storage.statements.named_rows import fetch_all

LOCK = 0x6B76_6461  # an advisory lock: one counter at a time
MAX_AGE = 60  # days: no page reads older ones
MIDNIGHT_GRACE = timedelta(minutes=10)  # longer than a transaction begun before midnight may last
BATCH_SIZE = 100  # stale days per commit

# Rounded to the two significant digits that people see: the median of rounded times equals the
# rounded median.
PACE = """
CASE WHEN state = 'delivered' THEN (
  SELECT round(ms, 2 - length(ms::text))::int FROM (SELECT LEAST(2e9, GREATEST(1, round(
    EXTRACT(epoch FROM COALESCE(delivered_at, finished_at) - created_at) * 1000))) AS ms) AS taken)
ELSE 0 END"""

COUNT = f"""
INSERT INTO channels_daycount (company_id, mode, day, channel, kind, state, pace, messages)
SELECT company_id, mode, %(day)s::date, channel, kind, state, {PACE}, count(*)
FROM channels_message WHERE created_at >= %(start)s AND created_at < %(end)s AND {{whose}}
GROUP BY 1, 2, 4, 5, 6, 7 ORDER BY 1, 2, 4, 5, 6, 7
"""  # noqa: S608 - constants of this file; in the index's order, by which a page reads them
# ALL_COMPANIES repeats the condition of the partial index on `created_at`.
ALL_COMPANIES, ONE_COMPANY = (
    "phone NOT LIKE '%%*'",
    "company_id = %(company_id)s AND mode = %(mode)s::text",
)

TAKE_STALE = """
DELETE FROM channels_staleday WHERE id IN (
  SELECT id FROM channels_staleday ORDER BY id LIMIT %s)
RETURNING company_id, mode, day
"""


class _StaleDay(NamedTuple):
    """A row of `TAKE_STALE`."""

    company_id: int
    mode: str
    day: date


def count_days() -> int:
    """Counts every due day; returns how many, stale ones included."""
    total = 0
    while counted := _count_next():
        total += counted
    return total


def recount() -> int:
    """Counts everything anew, after messages were written outside the service."""
    CountedDay.objects.all().delete()
    return count_days()


def last_counted() -> date | None:
    return CountedDay.objects.order_by("-day").values_list("day", flat=True).first()


def start_of(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))


@transaction.atomic
def _count_next() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        if not cursor.fetchone()[0]:
            return 0
        if day := _due_day():
            _count(cursor, day)
            CountedDay.objects.create(day=day)
            return 1
        return _count_stale(cursor)


def _due_day() -> date | None:
    """The day after the last counted one, once its codes have expired."""
    last = last_counted()
    day = last + timedelta(days=1) if last else timezone.localdate() - timedelta(days=MAX_AGE)
    latest_end = timezone.now() - MIDNIGHT_GRACE - timedelta(seconds=settings.CODE_LIFETIME)
    return day if day < timezone.localdate(latest_end) else None


def _count_stale(cursor: CursorWrapper) -> int:
    """Takes the marks before it reads the messages, so that no later change is missed."""
    cursor.execute(TAKE_STALE, [BATCH_SIZE])
    marks = fetch_all(cursor, _StaleDay)
    last = last_counted()
    for stale in sorted(set(marks)):
        if last and last - timedelta(days=MAX_AGE) <= stale.day <= last:
            _count(cursor, stale.day, stale.company_id, stale.mode)
    return len(marks)


def _count(
    cursor: CursorWrapper, day: date, company_id: int | None = None, mode: str | None = None
) -> None:
    start, end = start_of(day), start_of(day + timedelta(days=1))
    whose: dict[str, Any] = {"company_id": company_id, "mode": mode} if company_id else {}
    for model in (DayCount, DayTotal):
        model.objects.filter(day=day, **whose).delete()
    statement = COUNT.format(whose=ONE_COMPANY if whose else ALL_COMPANIES)
    cursor.execute(statement, {"day": day, "start": start, "end": end, **whose})
    DayTotal.objects.bulk_create(_totals(day, start, end, company_id, mode))


def _totals(
    day: date, start: datetime, end: datetime, company_id: int | None, mode: str | None
) -> Iterable[DayTotal]:
    totals: dict[tuple[int, str], DayTotal] = {}

    def total_of(company: int, row_mode: str) -> DayTotal:
        empty = DayTotal(company_id=company, mode=row_mode, day=day)
        return totals.setdefault((company, row_mode), empty)

    for row in extensions.count_codes(start=start, end=end, company_id=company_id, mode=mode):
        total = total_of(row.company_id, row.mode)
        total.codes, total.verified = row.codes, row.verified
    if mode != "test":
        for settled in settled_totals(start, end, company_id):
            total = total_of(settled.company_id, "live")
            total.spent, total.returned = settled.spent, settled.returned
    return totals.values()
