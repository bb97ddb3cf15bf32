"""The days shown by the overview and the list of messages: presets, or a custom range."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from catalogue.texts import StrOrPromise
from channels.history.figures import DAYS, DayRange
from parsing.form_fields import DayBoundField, LineField
from storage.months.calendar import last_day, previous_month


@dataclass(frozen=True, slots=True)
class DayPreset:
    name: str  # value in the URL of the overview
    title: StrOrPromise
    days: DayRange | None  # None: all days
    is_chosen: bool = False

    @property
    def date_from(self) -> str | None:
        return self.days.first.isoformat() if self.days else None

    @property
    def date_to(self) -> str | None:
        return self.days.last.isoformat() if self.days else None


def day_presets(*names: str) -> list[DayPreset]:
    """The presets with these names, in this order; a number is that of the last days."""
    today = timezone.localdate()
    yesterday = today - timedelta(days=1)
    last_month = previous_month(today)
    presets: dict[str, tuple[StrOrPromise, DayRange | None]] = {
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
    return [DayPreset(name, *presets[name]) for name in names]


def of_list(filters: Mapping[str, Any]) -> list[DayPreset]:
    """The presets of the list; the one that `filters`, the filter in use, shows is chosen."""
    days = (filters.get("date_from"), filters.get("date_to"))
    rows = day_presets("all", "today", "yesterday", "7", "30", "month", "last-month")
    return [replace(row, is_chosen=days == (row.days or (None, None))) for row in rows]


MAX_DAYS = 366
CHOSEN_DAYS = "days"


class PeriodForm(forms.Form):
    """A form whose `day_range` is always a period: invalid input shows its error, and two weeks."""

    mode = LineField(required=False, widget=forms.HiddenInput)
    period = LineField(required=False, max_length=12)
    date_from = DayBoundField(label=_("From"), required=False)
    date_to = DayBoundField(label=_("To"), required=False)

    @cached_property
    def presets(self) -> list[DayPreset]:
        return day_presets("7", "14", "30", "90", "month", "last-month")

    @property
    def is_own(self) -> bool:
        return self.data.get("period") == CHOSEN_DAYS

    @property
    def name(self) -> str:
        period = self.data.get("period", "")
        names = {preset.name for preset in self.presets}
        return period if period in names or (self.is_own and self.is_valid()) else str(DAYS)

    @property
    def query(self) -> str:
        """The query of links to the same period."""
        if self.name != CHOSEN_DAYS:
            return f"&period={self.name}"
        days_shown = self.day_range()
        days = f"date_from={days_shown.first:%Y-%m-%d}&date_to={days_shown.last:%Y-%m-%d}"
        return f"&period={CHOSEN_DAYS}&{days}"

    def day_range(self) -> DayRange:
        if self.is_own and self.is_valid():
            return DayRange(self.cleaned_data["date_from"], self.cleaned_data["date_to"])
        ranges = {preset.name: preset.days for preset in self.presets}[self.name]
        return ranges or DayRange.last_days(DAYS)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if self.is_own and not self.errors:
            today = timezone.localdate()
            last = min(data["date_to"] or today, today)
            first = data["date_from"] or last
            if first > last:
                raise ValidationError({"date_from": _("This day comes after the last one.")})
            if (last - first).days >= MAX_DAYS:
                raise ValidationError({"date_from": _("A year at most.")})
            data["date_from"] = first
            data["date_to"] = last
        return data
