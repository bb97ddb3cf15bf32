"""A made-up past of one company, or of many made-up ones, with what is counted of it."""

import time
from datetime import UTC, date, timedelta

from django.conf import settings
from django.db import connection
from django.utils import timezone

from accounts.models import Company
from billing.wallet import running_balances
from channels.history import day_counts
from channels.models import CountedDay
from config.storage.months.calendar import month_of
from links.clicks import partitions as click_months
from tools.command_line import say
from tools.demo import DemoError, bulk_months, earlier_months, filling, senders

_MONTH = 30  # days
_PAUSE = 5  # seconds from one line of progress to the next
_NOT_ALONE = (
    "Something else is connected to this database, so every row is put into its indexes: twice as"
    " slow as filling months without them."
)
_REAL = (
    "This database has companies that are no demo: {name}. Made-up messages cannot be removed"
    " again, and would be counted in what the operator sees. Use a database of its own, or say"
    " --beside-real-companies."
)


def of_company(name: str | None = None, *, messages: int, days: int) -> None:
    """Of the first company, if none is named."""
    rows = Company.objects.filter(name=name) if name else Company.objects.order_by("pk")
    company = rows.first()
    if company is None:
        raise DemoError("There is no such company.")
    if filling.is_filled(company):
        raise DemoError(f"{company} has a made-up history already.")
    filling.fill_company(company, messages=messages, days=days, on_day=_Progress().add)
    recount()
    say(f"{company}: {messages} messages in {days} days")


def of_companies(
    many: int, *, messages: int, months: int, beside_real_companies: bool = False
) -> None:
    if min(many, messages, months) < 1:
        raise DemoError("--messages, --months and --companies must be 1 or more.")
    real = senders.real_companies().first()
    if real and not beside_real_companies:
        raise DemoError(_REAL.format(name=real))
    if messages > months * filling.BULK and not bulk_months.is_alone():
        say(_NOT_ALONE)
    _create_months(timezone.localdate() - timedelta(days=months * _MONTH + 1))
    progress = _Progress()
    added = filling.fill_companies(
        senders.made_up(many, messages=messages),
        messages=messages,
        days=months * _MONTH,
        on_chunk=progress.add,
    )
    _count()
    say(f"{added} messages added in {progress.seconds():.0f} s")


def recount() -> None:
    """Every day, as its messages were written outside the service."""
    CountedDay.objects.all().delete()
    day_counts.count_days()


def _create_months(first: date) -> None:
    earlier_months.create(first)
    recent = timezone.now() - timedelta(days=settings.RAW_RETENTION)
    click_months.ensure(*(month_of(at, UTC) for at in (recent, timezone.now())))


def _count() -> None:
    """What the service's own tasks would do meanwhile."""
    recount()
    running_balances.store(whole=True)
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("ANALYZE")
        cursor.execute("RESET statement_timeout")


class _Progress:
    """Says now and then how many messages there are."""

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
