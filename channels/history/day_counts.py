"""Aggregates each past day off the send path, so that the overview reads totals.

A day is counted once for all companies, after the last transaction that could belong to it. A later
change (a late receipt, a deadline) marks the day stale, and it is counted again. A count replaces
the earlier one, so a repeat changes nothing. Today is never counted here: readers add it from the
messages themselves.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from datetime import date, timedelta
from operator import attrgetter
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job
from accounts.models import Company, Mode
from catalogue.ids import first_id_at
from channels import extensions
from channels.extensions import BreakdownCount, StepCounts
from channels.models import CountedDay, DayBreakdown, DayCount, Message, StaleDay
from channels.phone_numbers import country_of
from parsing.days import start_of
from storage import advisory_locks
from storage.statements import sql_files
from storage.statements.named_rows import fetch_all
from storage.store_errors import is_refusal

JOB = Job("day_counts", _("counts of days"))
LOCK = 0x6B76_6461  # an advisory lock: one counter at a time
FIRST_DAYS = 60  # counted first; earlier days follow, newest first
MAX_AGE = 2 * 366  # days; pages read no older ones (the longest period, and the period before it)
# longest gap between a message's id and its time, including clock drift
MARGIN = timedelta(hours=1)
# longer than a transaction that began before midnight may last
MIDNIGHT_GRACE = timedelta(minutes=10)
RETRY = timedelta(minutes=1)  # until a failed company-day is due again
BATCH_SIZE = 100  # stale marks per commit, plus the other marks of the same days
ROWS_PER_INSERT = 2000

# Rounded to the two significant digits that people see: the median of rounded times equals the
# rounded median.
PACE = """
CASE WHEN state = 'delivered' THEN (
  SELECT round(ms, 2 - length(ms::text))::int FROM (SELECT LEAST(2e9, GREATEST(1, round(
    EXTRACT(epoch FROM COALESCE(delivered_at, finished_at) - created_at) * 1000))) AS ms) AS taken)
ELSE 0 END"""

_COUNT = sql_files.read("channels/history/count_day.sql")
# By ids: the index on `created_at` lacks the messages whose phones are anonymised or erased.
ALL_COMPANIES = "id >= %(first_id)s AND id < %(end_id)s"
ONE_COMPANY = "company_id = %(company_id)s AND mode = %(mode)s::text"

_TAKE_STALE = sql_files.read("channels/history/take_stale.sql")

# A company's most used purposes of a day. Clients choose purposes, even order numbers, and each
# would otherwise have a row forever.
MAX_PURPOSES = 50
COUNTS = tuple(field.name for field in fields(StepCounts))
_counts_of = attrgetter(*COUNTS)
# An anonymised phone keeps its first digits: enough for most countries, once padded to the length
# of other phones.
ANONYMISED_LENGTH = 12
FILLING = "2"


class _StaleDay(NamedTuple):
    company_id: int
    mode: str
    day: date


def count_days() -> int:
    """Counts every due day; returns how many, stale ones included."""
    total = 0
    while counted := _count_next():
        total += counted
    return total


def last_counted() -> date | None:
    return CountedDay.objects.order_by("-day").values_list("day", flat=True).first()


@transaction.atomic
def _count_next() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        if not advisory_locks.try_lock(LOCK):
            return 0
        if day := _due_day() or _earlier_day():
            _count_all(cursor, day)
            CountedDay.objects.create(day=day)
            return 1
        return _count_stale(cursor)


def _due_day() -> date | None:
    """The day after the last counted one, once its codes have expired."""
    last = last_counted()
    day = last + timedelta(days=1) if last else timezone.localdate() - timedelta(days=FIRST_DAYS)
    latest_end = timezone.now() - MIDNIGHT_GRACE - timedelta(seconds=settings.LONGEST_CODE_LIFETIME)
    return day if day < timezone.localdate(latest_end) else None


def _earlier_day() -> date | None:
    """The day before the first counted day, if it may have messages; None otherwise.

    It may after an upgrade from a release that counted fewer days, and after an import of history.
    """
    first = CountedDay.objects.order_by("day").values_list("day", flat=True).first()
    oldest = Message.objects.order_by("id").values_list("created_at", flat=True).first()
    if first is None or oldest is None:
        return None
    day = first - timedelta(days=1)
    limit = timezone.localdate() - timedelta(days=MAX_AGE)
    return day if day >= max(limit, timezone.localdate(oldest)) else None


def _count_stale(cursor: CursorWrapper) -> int:
    """Counts stale days again; returns the number of their marks.

    Deletes the marks before it reads the messages, so that no later change is missed.
    """
    cursor.execute(_TAKE_STALE, [BATCH_SIZE])
    marks = fetch_all(cursor, _StaleDay)
    last = last_counted()
    stale = [
        day_mark
        for day_mark in sorted(set(marks))
        if last and last - timedelta(days=MAX_AGE) <= day_mark.day <= last
    ]
    _count_each(cursor, stale)
    return len(marks)


def _count_each(cursor: CursorWrapper, stale: Sequence[_StaleDay]) -> None:
    """Counts each day; a day that cannot be counted now stays marked."""

    def count(row: _StaleDay) -> _StaleDay:
        _count(cursor, row.day, row.company_id, row.mode)
        return row

    counted = set(JOB.each(stale, count))
    due_at = timezone.now() + RETRY
    StaleDay.objects.bulk_create(
        [StaleDay(**row._asdict(), due_at=due_at) for row in stale if row not in counted]
    )


def _count_all(cursor: CursorWrapper, day: date) -> None:
    """Counts all companies in one statement, or each company separately if one cannot be
    counted.
    """
    try:
        with transaction.atomic():
            _count(cursor, day)
    except Exception as error:
        if not is_refusal(error):
            raise
        companies = Company.objects.order_by("pk").values_list("pk", flat=True)
        _count_each(cursor, [_StaleDay(pk, mode, day) for pk in companies for mode in Mode.values])


def _count(
    cursor: CursorWrapper, day: date, company_id: int | None = None, mode: str | None = None
) -> None:
    start, end = start_of(day), start_of(day + timedelta(days=1))
    company_filter: dict[str, Any] = {"company_id": company_id, "mode": mode} if company_id else {}
    DayCount.objects.filter(day=day, **company_filter).delete()
    DayBreakdown.objects.filter(day=day, **company_filter).delete()
    ids = {"first_id": first_id_at(start - MARGIN), "end_id": first_id_at(end + MARGIN)}
    condition = ONE_COMPANY if company_filter else ALL_COMPANIES
    statement = sql_files.fill(_COUNT, pace=PACE, whose=condition)
    cursor.execute(statement, {"day": day, "start": start, "end": end, **ids, **company_filter})
    counts = extensions.kinds["code"].count_breakdowns(
        start=start, end=end, company_id=company_id, mode=mode
    )
    rows = rows_of(day, counts)
    DayBreakdown.objects.bulk_create(rows, batch_size=ROWS_PER_INSERT)


class Bucket(NamedTuple):
    """The company, the mode and the value that a row counts."""

    company_id: int
    mode: str
    dimension: str
    value: str
    is_rest: bool = False


def sums_of(counts: Iterable[BreakdownCount]) -> dict[Bucket, list[int]]:
    """The counts by bucket, in the order of `COUNTS`."""
    sums: dict[Bucket, list[int]] = defaultdict(lambda: [0] * len(COUNTS))
    for row in counts:
        is_country = row.dimension == DayBreakdown.Dimension.COUNTRY
        value = country_of_any(row.value) if is_country else row.value
        _add(sums[Bucket(row.company_id, row.mode, row.dimension, value)], _counts_of(row))
    return sums


def rows_of(day: date, source: Iterable[BreakdownCount]) -> Iterator[DayBreakdown]:
    for bucket, counts in sorted(_with_few_purposes(sums_of(source)).items()):
        yield DayBreakdown(day=day, **bucket._asdict(), **dict(zip(COUNTS, counts, strict=True)))


def country_of_any(phone: str) -> str:
    if not phone.endswith("*"):
        return country_of(phone)
    return country_of(phone.rstrip("*").ljust(ANONYMISED_LENGTH, FILLING))


def _with_few_purposes(sums: dict[Bucket, list[int]]) -> dict[Bucket, list[int]]:
    result: dict[Bucket, list[int]] = {}
    of_company: dict[tuple[int, str], list[Bucket]] = defaultdict(list)
    for bucket, counts in sums.items():
        if bucket.dimension == DayBreakdown.Dimension.PURPOSE and bucket.value:
            of_company[bucket[:2]].append(bucket)
        else:
            result[bucket] = counts
    for purposes in of_company.values():
        purposes.sort(key=lambda bucket: (-sums[bucket][0], bucket.value))
        result |= {bucket: sums[bucket] for bucket in purposes[:MAX_PURPOSES]}
        if others := purposes[MAX_PURPOSES:]:
            rest = result[others[0]._replace(value="", is_rest=True)] = [0] * len(COUNTS)
            for bucket in others:
                _add(rest, sums[bucket])
    return result


def _add(sums: list[int], counts: Iterable[int]) -> None:
    for index, count in enumerate(counts):
        sums[index] += count
