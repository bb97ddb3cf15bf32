"""Days that a list of messages is often filtered by, as links."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, NamedTuple

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from catalogue.texts import StrOrPromise
from storage.months.calendar import last_day, previous_month


class DayPreset(NamedTuple):
    title: StrOrPromise
    first: date | None  # None: all days
    last: date | None
    is_chosen: bool

    @property
    def date_from(self) -> str | None:
        return self.first.isoformat() if self.first else None

    @property
    def date_to(self) -> str | None:
        return self.last.isoformat() if self.last else None


def presets(chosen: Mapping[str, Any]) -> list[DayPreset]:
    """`chosen`: the filter in use."""
    now = (chosen.get("date_from"), chosen.get("date_to"))
    return [DayPreset(title, *days, now == days) for title, days in _days(timezone.localdate())]


def _days(today: date) -> list[tuple[StrOrPromise, tuple[date | None, date | None]]]:
    yesterday = today - timedelta(days=1)
    last_month = previous_month(today)
    return [
        (_("all days"), (None, None)),
        (_("today"), (today, today)),
        (_("yesterday"), (yesterday, yesterday)),
        (_("7 days"), (today - timedelta(days=6), today)),
        (_("30 days"), (today - timedelta(days=29), today)),
        (_("this month"), (today.replace(day=1), today)),
        (_("last month"), (last_month, last_day(last_month))),
    ]
