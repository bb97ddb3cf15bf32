"""Days that pages are often looked at by: presets of the overview and of the list of messages."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from catalogue.texts import StrOrPromise
from channels.history.figures import DayRange
from storage.months.calendar import last_day, previous_month


class DayPreset(NamedTuple):
    name: str  # in the URL of the overview
    title: StrOrPromise
    shown: DayRange | None  # None: all days
    is_chosen: bool = False

    @property
    def date_from(self) -> str | None:
        return self.shown.first.isoformat() if self.shown else None

    @property
    def date_to(self) -> str | None:
        return self.shown.last.isoformat() if self.shown else None


def presets(*names: str) -> list[DayPreset]:
    """The presets with these names, in this order; a number is the length in days until today."""
    today = timezone.localdate()
    yesterday, last_month = today - timedelta(days=1), previous_month(today)
    known: dict[str, tuple[StrOrPromise, DayRange | None]] = {
        "all": (_("all days"), None),
        "today": (_("today"), DayRange(today, today)),
        "yesterday": (_("yesterday"), DayRange(yesterday, yesterday)),
        "7": (_("7 days"), DayRange.last_days(7)),
        "14": (_("14 days"), DayRange.last_days(14)),
        "30": (_("30 days"), DayRange.last_days(30)),
        "90": (_("90 days"), DayRange.last_days(90)),
        "month": (_("this month"), DayRange(today.replace(day=1), today)),
        "last-month": (_("last month"), DayRange(last_month, last_day(last_month))),
    }
    return [DayPreset(name, *known[name]) for name in names]


def of_list(chosen: Mapping[str, Any]) -> list[DayPreset]:
    """`chosen`: the filter in use."""
    days = (chosen.get("date_from"), chosen.get("date_to"))
    rows = presets("all", "today", "yesterday", "7", "30", "month", "last-month")
    return [row._replace(is_chosen=days == (row.shown or (None, None))) for row in rows]
