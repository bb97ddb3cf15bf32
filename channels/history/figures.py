"""The overview's figures of a period: counted days plus today's messages."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import accumulate
from typing import Any, NamedTuple

from django.conf import settings
from django.utils import timezone

from accounts.models import Company, Mode
from billing.wallet.period_totals import settled_totals
from catalogue.channels import BY_NAME, CHANNELS
from catalogue.texts import StrOrPromise
from channels import extensions
from channels.history.day_counts import PACE, last_counted
from channels.models import DayBreakdown, Message
from parsing.days import start_of
from storage.statements import sql_files
from storage.statements.queries import select

DAYS = 14
# The dimension in which every message and settlement has a value.
CHANNEL = DayBreakdown.Dimension.CHANNEL
FINAL_STATES = {Message.State.DELIVERED, *Message.FAILED_STATES}

_READ = sql_files.fill(sql_files.read("channels/history/figures.sql"), pace=PACE)


class _CountRow(NamedTuple):
    """A row of `_READ`: messages of a day if it has one, otherwise of a duration."""

    day: date | None
    channel: str
    state: str
    pace: int
    messages: int


class DayRange(NamedTuple):
    """The days from the first to the last, both included."""

    first: date
    last: date

    @classmethod
    def last_days(cls, count: int) -> "DayRange":
        today = timezone.localdate()
        return cls(today - timedelta(days=count - 1), today)

    @property
    def length(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def before(self) -> "DayRange":
        """An equally long range before this one."""
        span = timedelta(days=self.length)
        return DayRange(self.first - span, self.last - span)


@dataclass(slots=True)
class Period:
    states: Counter[str] = field(default_factory=Counter)
    spent: int = 0
    returned: int = 0
    spent_on: Counter[date] = field(default_factory=Counter)

    @property
    def messages(self) -> int:
        return self.states.total()

    @property
    def ended(self) -> int:
        return sum(self.states[state] for state in FINAL_STATES)

    @property
    def delivered(self) -> int:
        return self.states[Message.State.DELIVERED]

    @property
    def delivered_share(self) -> float | None:
        """The delivered share of final messages; open messages have no result yet."""
        return 100 * self.delivered / self.ended if self.ended else None


@dataclass(slots=True)
class Figures:
    days: dict[date, Counter[str]]  # messages by channel for each day shown, oldest first
    now: Period
    before: Period  # in the equally long range before
    failed: Counter[date]  # undelivered messages by day, including expired ones
    medians: dict[str, int]  # channel → ms to delivery; "" is all channels

    @property
    def median(self) -> int | None:
        return self.medians.get("")

    @property
    def paces(self) -> list[tuple[StrOrPromise, int]]:
        """The median delivery time of each channel with a delivery."""
        return [
            (channel.title, self.medians[channel.name])
            for channel in CHANNELS
            if channel.name in self.medians
        ]


def figures(company: Company, mode: str, shown: DayRange | None = None) -> Figures:
    """The figures of the shown days, by default two weeks, and of an equally long range before."""
    middle, last = shown or DayRange.last_days(DAYS)
    count = DayRange(middle, last).length
    first = middle - timedelta(days=count)
    counted = last_counted()
    live_day = max(first, counted + timedelta(days=1)) if counted else first
    days = {middle + timedelta(days=offset): Counter[str]() for offset in range(count)}
    result = Figures(days, Period(), Period(), Counter(), {})
    # One day beyond today, in case the clocks differ.
    end = last + timedelta(days=2 if last >= timezone.localdate() else 1)
    _read_messages(result, company, mode, first=first, middle=middle, live_day=live_day, until=end)
    for period, since, until in ((result.before, first, middle), (result.now, middle, end)):
        _read_totals(period, company, mode, since=since, until=until, live_day=live_day)
    return result


def has_verified(company: Company) -> bool:
    """Whether any code was ever entered, in either mode."""
    if DayBreakdown.objects.filter(company=company, entered__gt=0).exists():
        return True
    counted = last_counted()
    today = timezone.localdate()
    start = start_of(counted + timedelta(days=1) if counted else today - timedelta(days=DAYS))
    end = start_of(today + timedelta(days=2))
    return any(
        row.entered
        for mode in Mode.values
        for row in extensions.kinds["code"].count_breakdowns(
            start=start, end=end, company_id=company.pk, mode=mode
        )
    )


def _read_messages(result: Figures, company: Company, mode: str, **days: date) -> None:
    params: dict[str, Any] = {
        "company_id": company.pk,
        "mode": mode,
        "zone": settings.TIME_ZONE,
        "live_from": start_of(days["live_day"]),
        "live_until": start_of(days["until"]),
        **days,
    }
    rows = select(_CountRow, _READ, params)
    for row in rows:
        if row.day is None:
            continue
        period = result.now if row.day >= days["middle"] else result.before
        period.states[row.state] += row.messages
        if row.day in result.days:
            result.days[row.day][row.channel] += row.messages
            if row.state in Message.FAILED_STATES:
                result.failed[row.day] += row.messages
    for channel in ("", *BY_NAME):
        counts = Counter[int]()
        for row in rows:
            if row.day is None and channel in ("", row.channel):
                counts[row.pace] += row.messages
        if counts:
            result.medians[channel] = _median(counts)


def _median(counts: Counter[int]) -> int:
    """The lower median of values with their frequencies."""
    values = sorted(counts)
    middle = (counts.total() + 1) // 2
    reached = accumulate(counts[value] for value in values)
    return next(value for value, sum_ in zip(values, reached, strict=True) if sum_ >= middle)


def _read_totals(
    period: Period, company: Company, mode: str, *, since: date, until: date, live_day: date
) -> None:
    counted = DayBreakdown.objects.filter(company=company, mode=mode, dimension=CHANNEL)
    for row in counted.filter(day__gte=since, day__lt=min(until, live_day)):
        _add(period, row.day, row.spent, row.returned)
    if live_day < until and mode == Mode.LIVE:
        start, end = start_of(max(since, live_day)), start_of(until)
        for settled in settled_totals(start, end, company.pk):
            _add(period, settled.day, settled.spent, settled.returned)


def _add(period: Period, day: date, spent: int, returned: int) -> None:
    period.spent += spent
    period.returned += returned
    period.spent_on[day] += spent
