"""A generated history of one company, or of many: fills days with one statement per table."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from accounts.models import Company, Mode
from channels.history import day_counts
from channels.models import CountedDay
from links.clicks import partitions as click_months
from parsing.days import start_of
from storage.months.calendar import month_of
from tools.command_line import say
from tools.demo import KEY_ID, DemoError, past_transfers, senders
from tools.demo import months as month_tables
from tools.demo.senders import Senders
from tools.queries import queries

BATCH_SIZE = 50_000  # messages per statement
_MEMORY = "128MB"  # for sorts
_MONTH = 30  # days
_PAUSE = 5  # seconds between lines of progress
_SQL = {query.name: query.text for query in queries(__file__, "rows.sql").values()}
_GENERATE = _SQL.pop("generate")
_TRANSFERS = _SQL.pop("transfers")
_GRANT = queries(__file__)["grant"].text
_FILLED_DAYS = queries(__file__)["filled_days"].text
Progress = Callable[[date, int], None]  # a day, and the number of its new messages


def of_companies(
    count: int, *, messages: int, months: int, beside_real_companies: bool = False
) -> None:
    if min(count, messages, months) < 1:
        raise DemoError("--messages, --months and --companies must be 1 or more.")
    real = senders.real_companies().first()
    if real and not beside_real_companies:
        raise DemoError(
            f"This database has companies that are no demo: {real}. Made-up messages cannot be"
            " removed again, and would be counted in what the operator sees. Use a database of its"
            " own, or say --beside-real-companies."
        )
    month_tables.create_earlier(timezone.localdate() - timedelta(days=months * _MONTH + 1))
    recent = timezone.now() - timedelta(days=settings.RAW_RETENTION)
    click_months.ensure(*(month_of(at, UTC) for at in (recent, timezone.now())))
    progress, companies = _Progress(), senders.made_up(count, messages=messages)
    added = fill_companies(
        companies, messages=messages, days=months * _MONTH, on_batch=progress.add
    )
    # The work of the service's own tasks.
    recount()
    past_transfers.correct_balances(companies.company_ids)
    with connection.cursor() as cursor:
        for statement in ("SET statement_timeout = 0", "ANALYZE", "RESET statement_timeout"):
            cursor.execute(statement)
    say(f"{added} messages added in {progress.seconds():.0f} s")


def recount() -> None:
    """Counts every day again, since its messages were written outside the service."""
    CountedDay.objects.all().delete()
    day_counts.count_days()


def is_filled(company: Company) -> bool:
    return company.messages.filter(params__key=KEY_ID).exists()


@transaction.atomic
def fill_company(company: Company, *, messages: int, days: int) -> None:
    """Fills the days before today in one transaction; the balance stays the same."""
    key = company.api_keys.filter(mode=Mode.LIVE).values_list("pk", flat=True).first()
    params = Senders([company.pk], [key], [None]).params()
    targets = _spread(messages, days)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        keep = "CREATE TEMPORARY TABLE demo_transfer AS"
        for day, count in targets.items():
            _generate(cursor, params | _bounds(f"company {company.pk}", day), 1, count)
            cursor.execute(f"{keep} {_TRANSFERS}")
            keep = "INSERT INTO demo_transfer"
            cursor.execute("DROP TABLE demo_message")
        past_transfers.book(cursor, _GRANT, {"since": start_of(min(targets))})
        past_transfers.book(cursor, "SELECT * FROM demo_transfer", {})
        past_transfers.correct_balances([company.pk])
        cursor.execute("DROP TABLE demo_transfer")


def fill_companies(
    companies: Senders, *, messages: int, days: int, on_batch: Progress = lambda _day, _count: None
) -> int:
    """Fills the days before today until these companies have `messages`; returns how many were
    added. Each batch is a commit, so an interrupted call is continued by the next one.
    """
    filled = _filled_days(companies.company_ids)
    targets = _spread(messages, days)
    missing = {day: max(0, count - filled.get(day, 0)) for day, count in targets.items()}
    senders.buy(companies.company_ids, companies.weights, missing)
    params = companies.params()
    for day, count in missing.items():
        bounds, first = params | _bounds("companies", day), filled.get(day, 0) + 1
        for start in range(first, first + count, BATCH_SIZE):
            size = min(BATCH_SIZE, first + count - start)
            _fill_batch(bounds, start, size)
            on_batch(day, size)
    return sum(missing.values())


@transaction.atomic
def _fill_batch(params: Mapping[str, Any], first: int, count: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(f"SET LOCAL work_mem = '{_MEMORY}'")
        _generate(cursor, params, first, count)
        senders.cover(cursor)
        past_transfers.book(cursor, _TRANSFERS, {})
        cursor.execute("DROP TABLE demo_message")


def _generate(cursor: CursorWrapper, params: Mapping[str, Any], first: int, count: int) -> None:
    batch = {**params, "first": first, "count": count}
    for text in (_GENERATE, *_SQL.values()):
        cursor.execute(text, batch)


@transaction.atomic
def _filled_days(company_ids: Sequence[int]) -> dict[date, int]:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(_FILLED_DAYS, [settings.TIME_ZONE, list(company_ids), KEY_ID])
        return dict(cursor.fetchall())


def _spread(messages: int, days: int) -> dict[date, int]:
    """Spreads the messages over the days before today, fewer on Saturdays and Sundays."""
    today = timezone.localdate()
    dates: Iterator[date] = (today - timedelta(days=n) for n in range(days, 0, -1))
    weights = {day: 3 if day.weekday() >= 5 else 5 for day in dates}
    messages_left, weight_left = messages, sum(weights.values())
    counts = {}
    for day, weight in weights.items():
        counts[day] = messages_left * weight // weight_left
        messages_left, weight_left = messages_left - counts[day], weight_left - weight
    return counts


def _bounds(seed: str, day: date) -> dict[str, Any]:
    start, end = start_of(day), start_of(day + timedelta(days=1))
    return {"seed": f"{seed} {day}", "start": start, "length": end - start}


class _Progress:
    """Prints the number of messages from time to time."""

    def __init__(self) -> None:
        self._started = self._said = time.monotonic()
        self._total = 0

    def add(self, day: date, count: int) -> None:
        self._total += count
        if time.monotonic() - self._said >= _PAUSE:
            self._said = time.monotonic()
            rate = self._total / self.seconds()
            say(f"{day}: {self._total} messages, {rate:.0f} a second")

    def seconds(self) -> float:
        return time.monotonic() - self._started
