"""The statement of a period: opening balance, turnover and closing balance by month.

Tokens are exact at each moment. Money is the prepaid money: charges are booked when the month is
closed, and nothing is known before the first closed month.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from accounts.models import Company
from billing.documents import prepaid
from billing.documents.prepaid import Entry
from billing.models import ClosedMonth, Seal, Transfer
from billing.wallet import archived
from billing.wallet.period_totals import Totals, day_of, external_transfers, local_start_of, totals
from storage.months.calendar import last_day, next_month

MAX_MONTHS = 37  # months in one statement
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Turnover:
    """Turnover of prepaid money: closing = opening + received - refunded - charged."""

    currency: str
    opening: Decimal
    received: Decimal
    refunded: Decimal
    charged: Decimal
    closing: Decimal


@dataclass(frozen=True, slots=True)
class Period:
    """A month, or its part in the statement."""

    first: date
    last: date
    tokens: Totals
    money: list[Turnover]
    seal: Seal | None  # the last day of the month, if it is in the period


@dataclass(frozen=True, slots=True)
class PeriodStatement:
    company: Company
    first: date
    last: date
    periods: list[Period]
    transfers: list[Transfer]  # top-ups, grants and withdrawals
    created_at: datetime = field(default_factory=timezone.now)

    @property
    def tokens(self) -> Totals:
        rows = [period.tokens for period in self.periods]
        return Totals(
            rows[0].opening,
            sum(row.bought for row in rows),
            sum(row.granted for row in rows),
            sum(row.withdrawn for row in rows),
            sum(row.spent for row in rows),
            rows[-1].closing,
        )

    @property
    def money(self) -> list[Turnover]:
        """Sums of the whole period, by currency."""
        by_currency: dict[str, list[Turnover]] = {}
        for period in self.periods:
            for turnover in period.money:
                by_currency.setdefault(turnover.currency, []).append(turnover)
        return [_total_turnover(rows) for rows in by_currency.values()]


def _total_turnover(rows: Sequence[Turnover]) -> Turnover:
    return Turnover(
        rows[0].currency,
        rows[0].opening,
        sum((row.received for row in rows), Decimal(0)),
        sum((row.refunded for row in rows), Decimal(0)),
        sum((row.charged for row in rows), Decimal(0)),
        rows[-1].closing,
    )


def first_day(company: Company) -> date | None:
    """The first day with operations in the database; None if nothing is archived."""
    opening = archived.opening(company.pk)
    if opening is None:
        return None
    return day_of(opening.at) + DAY


def make(company: Company, first: date, last: date) -> PeriodStatement:
    """The statement of the days from `first` to `last`, both included."""
    days = _bounds(first, last)
    bounds = [local_start_of(day) for day in days]
    tokens = totals(company.pk, bounds)
    money = money_by_period(company.pk, bounds)
    seals = _seals(company, first, last)
    periods = [
        Period(start, end - DAY, tokens[index], money[index], seals.get(start.replace(day=1)))
        for index, (start, end) in enumerate(pairwise(days))
    ]
    rows = external_transfers(company.pk, bounds[0], bounds[-1])
    return PeriodStatement(company, first, last, periods, rows)


def _bounds(first: date, last: date) -> list[date]:
    """The first day of each month in the period, with the ends of the period itself."""
    days = [first]
    month = next_month(first)
    while month <= last:
        days.append(month)
        month = next_month(month)
    return [*days, last + DAY]


def money_by_period(company_id: int, bounds: Sequence[datetime]) -> list[list[Turnover]]:
    closed = list(ClosedMonth.objects.filter(company=company_id).order_by("month"))
    if not closed:
        return [[] for _pair in pairwise(bounds)]
    first_closed = local_start_of(closed[0].month)
    sums = prepaid.opening(company_id, max(bounds[0], first_closed))
    entries = prepaid.entries(company_id, max(bounds[0], first_closed), bounds[-1])
    periods = []
    for start, end in pairwise(bounds):
        period_entries = [entry for entry in entries if start <= entry.at < end]
        ends = [row for row in closed if start < local_start_of(next_month(row.month)) <= end]
        rows = list(_turnovers(sums, period_entries, ends)) if end > first_closed else []
        sums = {row.currency: row.closing for row in rows} or sums
        periods.append(rows)
    return periods


def _turnovers(
    opening: prepaid.Sums, entries: Sequence[Entry], closed: Sequence[ClosedMonth]
) -> Iterator[Turnover]:
    charged = prepaid.charged_in(*closed)
    zero = Decimal("0.00")
    for currency in sorted({*opening, *charged, *(entry.currency for entry in entries)}):
        currency_entries = [entry for entry in entries if entry.currency == currency]
        before = opening.get(currency, zero)
        received = sum((entry.amount for entry in currency_entries if not entry.is_refund), zero)
        refunded = -sum((entry.amount for entry in currency_entries if entry.is_refund), zero)
        used = charged.get(currency, zero)
        after = before + received - refunded - used
        yield Turnover(currency, before, received, refunded, used, after)


def _seals(company: Company, first: date, last: date) -> dict[date, Seal]:
    """The last seal of each month that ends in the period, by the first day of the month."""
    seals = Seal.objects.filter(company=company, day__gte=first.replace(day=1), day__lte=last)
    rows = seals.last_of_months().defer("parts").order_by("day")
    return {seal.day.replace(day=1): seal for seal in rows if last_day(seal.day) <= last}


def csv_rows(statement: PeriodStatement) -> Iterator[list[str | int | Decimal]]:
    """Tokens and each currency as rows of one table."""
    yield [
        _("From"),
        _("To"),
        pgettext("statement", "Unit"),
        _("Opening balance"),
        _("Bought or paid"),
        _("Granted"),
        _("Withdrawn or refunded"),
        _("Spent or charged"),
        _("Closing balance"),
        _("Seal of the month"),
    ]
    for period in statement.periods:
        days = [f"{period.first:%Y-%m-%d}", f"{period.last:%Y-%m-%d}"]
        yield from _csv_rows(days, period.tokens, period.money, period.seal)
    if len(statement.periods) > 1:
        days = [f"{statement.first:%Y-%m-%d}", f"{statement.last:%Y-%m-%d}"]
        yield from _csv_rows(days, statement.tokens, statement.money, None)


def _csv_rows(
    days: list[str], tokens: Totals, money: Sequence[Turnover], seal: Seal | None
) -> Iterator[list[str | int | Decimal]]:
    head = seal.head if seal else ""
    opening, bought, granted, withdrawn, spent, closing = tokens
    yield [*days, _("tokens"), opening, bought, granted, withdrawn, spent, closing, head]
    for row in money:
        received = [row.opening, row.received]
        yield [*days, row.currency, *received, "", row.refunded, row.charged, row.closing, ""]
