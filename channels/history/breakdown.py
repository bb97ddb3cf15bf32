"""The steps reached by a period's messages, by channel, country, purpose or API key."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet, Sum
from django.utils import timezone

from accounts.models import Company
from channels import extensions
from channels.extensions import StepCounts
from channels.history.day_counts import COUNTS, last_counted, sums_of
from channels.history.figures import DayRange
from channels.models import DayBreakdown
from parsing.days import start_of

Dimension = DayBreakdown.Dimension
MAX_ROWS = 50


class Steps(StepCounts):
    """Counts of messages, of their codes, and the cost of deliveries."""

    def add(self, counts: Iterable[int]) -> None:
        for name, count in zip(COUNTS, counts, strict=True):
            setattr(self, name, getattr(self, name) + count)

    def counts(self) -> list[int]:
        return [getattr(self, name) for name in COUNTS]

    def share(self, name: str) -> float | None:
        """Per cent of the messages that could reach this step."""
        total: int = getattr(self, {"opened": "linked", "entered": "codes"}.get(name, "requested"))
        return 100 * getattr(self, name) / total if total else None

    @property
    def delivered_share(self) -> float | None:
        return self.share("delivered")

    @property
    def entered_share(self) -> float | None:
        return self.share("entered")


@dataclass(slots=True)
class Breakdown:
    """A table of steps: `rows` with the most messages first, and `rest`, the sum of the others."""

    dimension: str
    rows: dict[str, Steps] = field(default_factory=dict)
    rest: Steps = field(default_factory=Steps)
    total: Steps = field(default_factory=Steps)

    def shorten(self) -> "Breakdown":
        """The breakdown for a page: the rows with the most messages, and one row for the rest."""
        rest = Steps(*self.rest.counts())
        for steps in list(self.rows.values())[MAX_ROWS:]:
            rest.add(steps.counts())
        rows = dict(list(self.rows.items())[:MAX_ROWS])
        return replace(self, rows=rows, rest=rest)


def breakdown(company: Company, mode: str, days: DayRange, dimension: str) -> Breakdown:
    return breakdowns(company, mode, days, [dimension])[dimension]


def total_before(company: Company, mode: str, days: DayRange) -> Steps:
    """The totals of an equally long period before the shown days."""
    return breakdown(company, mode, days.before, Dimension.CHANNEL).total


def breakdowns(
    company: Company, mode: str, days: DayRange, dimensions: Collection[str]
) -> dict[str, Breakdown]:
    """The breakdown by each dimension: past days as counted, later days from the messages."""
    counted = last_counted()
    live_day = max(days.first, counted + timedelta(days=1)) if counted else days.first
    tables = {dimension: Breakdown(dimension) for dimension in dimensions}
    rows = DayBreakdown.objects.filter(company=company, mode=mode)
    _add_counted(tables, rows.filter(day__gte=days.first, day__lte=days.last, day__lt=live_day))
    if live_day <= days.last:
        # One day beyond today, in case the clocks differ.
        end = days.last + timedelta(days=2 if days.last >= timezone.localdate() else 1)
        period: dict[str, Any] = {"start": start_of(live_day), "end": start_of(end)}
        counts = extensions.kinds["code"].count_breakdowns(
            company_id=company.pk, mode=mode, **period
        )
        live = sums_of(row for row in counts if row.dimension in tables)
        for bucket, numbers in live.items():
            tables[bucket.dimension].rows.setdefault(bucket.value, Steps()).add(numbers)
    for table in tables.values():
        _sort(table)
    return tables


def _add_counted(tables: dict[str, Breakdown], days: QuerySet[DayBreakdown]) -> None:
    names = ("dimension", "value", "is_rest")
    sums = {name: Sum(name) for name in COUNTS}
    rows = days.filter(dimension__in=tables).values(*names).annotate(**sums)
    for dimension, value, is_rest, *counts in rows.values_list(*names, *COUNTS):
        table = tables[dimension]
        steps = table.rest if is_rest else table.rows.setdefault(value, Steps())
        steps.add(counts)


def _sort(table: Breakdown) -> None:
    ordered = sorted(table.rows.items(), key=lambda row: (-row[1].requested, -row[1].spent, row[0]))
    for _value, steps in ordered:
        table.total.add(steps.counts())
    table.total.add(table.rest.counts())
    # A row with nothing but returned tokens has nothing to show.
    table.rows = {value: steps for value, steps in ordered if steps.requested or steps.charged}
