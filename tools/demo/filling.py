"""Fills days with made-up messages, one statement a table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, date, timedelta
from itertools import groupby
from types import MappingProxyType
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from accounts.models import Company, Mode
from config.input.days import start_of
from tools.demo import bulk_months, past_transfers, rows, top_ups
from tools.demo.rows import KEY_ID
from tools.demo.senders import Senders

CHUNK = 50_000  # messages per statement
_MEMORY = "128MB"  # for what a statement sorts
# From so many messages on, the indexes of a month are built afterwards.
BULK = 100_000
BULK_TABLES = ("channels_message", "channels_attempt", "otp_verification", "billing_transfer")
Progress = Callable[[date, int], None]  # a day, and how many messages it was given


def _ignore_progress(_day: date, _count: int) -> None:
    pass


_KEEP_TRANSFERS = f"CREATE TEMPORARY TABLE demo_transfer AS {rows.TRANSFERS}"
_ADD_TRANSFERS = f"INSERT INTO demo_transfer {rows.TRANSFERS}"
# Of the delivered price, so that no line of the statement is below zero and the balance stays.
_GRANT = """
SELECT company_id, 'grant' AS kind, sum(amount) AS amount, 'demo:' || company_id AS key,
  NULL::uuid AS message_id, NULL::int AS hold, '' AS proof, 'demo' AS reason,
  %(since)s::timestamptz AS created_at
FROM demo_transfer WHERE kind = 'capture' GROUP BY company_id"""


@transaction.atomic
def fill_company(
    company: Company, *, messages: int, days: int, on_day: Progress = _ignore_progress
) -> None:
    """Fills the days before today in one transaction; the balance stays the same."""
    key = company.api_keys.filter(mode=Mode.LIVE).values_list("pk", flat=True).first()
    params = Senders([company.pk], [key], [None]).params()
    targets = _spread(messages, _days_before_today(days))
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        statement = _KEEP_TRANSFERS
        for day, count in targets.items():
            _generate(cursor, params | _bounds(f"company {company.pk}", day), 1, count)
            cursor.execute(statement)
            statement = _ADD_TRANSFERS
            cursor.execute("DROP TABLE demo_message")
            on_day(day, count)
        past_transfers.book(cursor, _GRANT, {"since": start_of(min(targets))})
        past_transfers.book(cursor, "SELECT * FROM demo_transfer", {})
        cursor.execute("DROP TABLE demo_transfer")


def is_filled(company: Company) -> bool:
    return company.messages.filter(params__key=KEY_ID).exists()


def fill_companies(
    senders: Senders, *, messages: int, days: int, on_chunk: Progress = _ignore_progress
) -> int:
    """Fills the days before today until these companies have so many messages; returns how many
    were added. Each chunk is a commit, or each month of many messages, so an interrupted call is
    continued by the next one.
    """
    found = _filled_days(senders.company_ids)
    targets = _spread(messages, _days_before_today(days))
    missing = {day: max(0, count - found.get(day, 0)) for day, count in targets.items()}
    top_ups.buy(senders.company_ids, senders.weights, missing)
    params = senders.params()
    for month, its_days in groupby(missing, key=_month_of):
        counts = {day: missing[day] for day in its_days}
        with _places(month, sum(counts.values()), sum(found.get(day, 0) for day in counts)) as into:
            for day, count in counts.items():
                bounds, first = params | _bounds("companies", day), found.get(day, 0) + 1
                for start in range(first, first + count, CHUNK):
                    size = min(CHUNK, first + count - start)
                    _fill_chunk(bounds, start, size, into)
                    on_chunk(day, size)
    return sum(missing.values())


def _month_of(day: date) -> date | None:
    """That of UTC, which the partitions have; None of a day that lies in two."""
    start, end = start_of(day), start_of(day + timedelta(days=1)) - timedelta(microseconds=1)
    first, last = (at.astimezone(UTC).date().replace(day=1) for at in (start, end))
    return first if first == last else None


def _places(month: date | None, new: int, found: int) -> AbstractContextManager[Mapping[str, str]]:
    """The table to write to instead of another, where that is quicker."""
    if month and new >= max(BULK, found) and bulk_months.is_possible(month, BULK_TABLES):
        return bulk_months.detached(month, *BULK_TABLES)
    return nullcontext({})


@transaction.atomic
def _fill_chunk(params: Mapping[str, Any], first: int, count: int, into: Mapping[str, str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(f"SET LOCAL work_mem = '{_MEMORY}'")
        _generate(cursor, params, first, count, into)
        top_ups.cover(cursor)
        transfers = into.get("billing_transfer", "billing_transfer")
        past_transfers.book(cursor, rows.TRANSFERS, {}, into=transfers)
        cursor.execute("DROP TABLE demo_message")


def _generate(
    cursor: CursorWrapper,
    params: Mapping[str, Any],
    first: int,
    count: int,
    into: Mapping[str, str] = MappingProxyType({}),
) -> None:
    batch = {**params, "first": first, "count": count}
    cursor.execute(rows.GENERATE, batch)
    for each in rows.ALL:
        cursor.execute(each.insert_into(into.get(each.table, each.table)), batch)


_FILLED_DAYS = """
SELECT (created_at AT TIME ZONE %s::text)::date, count(*) FROM channels_message
WHERE company_id = ANY(%s) AND params ->> 'key' = %s GROUP BY 1"""


@transaction.atomic
def _filled_days(company_ids: Sequence[int]) -> dict[date, int]:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(_FILLED_DAYS, [settings.TIME_ZONE, list(company_ids), KEY_ID])
        return dict(cursor.fetchall())


def _days_before_today(days: int) -> Iterator[date]:
    today = timezone.localdate()
    return (today - timedelta(days=n) for n in range(days, 0, -1))


def _spread(messages: int, days: Iterator[date]) -> dict[date, int]:
    """Spreads the messages over the days, fewer on Saturdays and Sundays."""
    weights = {day: 3 if day.weekday() >= 5 else 5 for day in days}
    left, weight_left = messages, sum(weights.values())
    counts = {}
    for day, weight in weights.items():
        counts[day] = left * weight // weight_left
        left, weight_left = left - counts[day], weight_left - weight
    return counts


def _bounds(seed: str, day: date) -> dict[str, Any]:
    start, end = start_of(day), start_of(day + timedelta(days=1))
    return {"seed": f"{seed} {day}", "start": start, "length": end - start}
