"""The usual spending of companies, the base of budgets that nobody has set.

A code counts once it is entered, a link once it is delivered: a stolen key that sends to an
accomplice's numbers must not raise the budget that should stop it. A custom code counts once it is
delivered: its company checks it, and need not report that it was entered.
"""

from collections import defaultdict
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job
from billing.budgets import budgets
from billing.models import SpentDay
from catalogue.ids import first_id_at
from channels.history.day_counts import country_of_any
from parsing.days import start_of
from storage.statements import sql_files
from storage.statements.queries import execute, select

JOB = Job("usual_spending", _("usual spending"), is_stream=True)

_SPENT = sql_files.read("otp/statistics/usual_spending.sql")
# Tolerance between our clock and the database's, plus the lifetime of a code
CLOCK_SKEW = timedelta(hours=1)


class _SpendingRow(NamedTuple):
    """A row of `_SPENT`."""

    company_id: int
    hour: datetime
    phone: str
    tokens: Decimal


def refresh() -> int:
    """Counts finished, uncounted days; returns how many companies' budgets changed."""
    _factor, day_count = settings.BUDGET_USUAL
    today = timezone.localdate()
    days = {today - timedelta(days=ago) for ago in range(1, day_count + 1)}
    SpentDay.objects.filter(day__lt=min(days)).delete()
    for day in sorted(days - set(SpentDay.objects.values_list("day", flat=True).distinct())):
        _count_day(day)
    return budgets.update_usual()


@transaction.atomic
def _count_day(day: date) -> None:
    hours: dict[tuple[int, str], dict[object, int]] = defaultdict(lambda: defaultdict(int))
    start, end = start_of(day), start_of(day + timedelta(days=1))
    params: dict[str, Any] = {
        "start": start,
        "end": end,
        "first_id": first_id_at(start - CLOCK_SKEW),
        "last_id": first_id_at(end + CLOCK_SKEW),
    }
    execute("SET LOCAL statement_timeout = '10min'")
    for spent in select(_SpendingRow, _SPENT, params):
        country = country_of_any(spent.phone) or budgets.UNKNOWN
        hours[spent.company_id, country][spent.hour] += int(spent.tokens)
    rows = [
        SpentDay(
            company_id=company_id,
            country=country,
            day=day,
            tokens=sum(spent.values()),
            busiest_hour=max(spent.values()),
        )
        for (company_id, country), spent in hours.items()
    ]
    JOB.write_batch(
        rows,
        lambda several: SpentDay.objects.bulk_create(several, ignore_conflicts=True),
        key=lambda row: row.company_id,
    )
