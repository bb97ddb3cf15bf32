"""The period that the overview shows: a preset, or days of one's own."""

from datetime import date
from typing import Any, NamedTuple

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from catalogue.texts import StrOrPromise
from channels.history.figures import DAYS, DayRange
from parsing.form_fields import DayBoundField, LineField
from storage.months.calendar import last_day, previous_month

LONGEST = 366  # days
OWN = "days"


class Preset(NamedTuple):
    name: str  # in the URL
    title: StrOrPromise
    shown: DayRange


def presets() -> list[Preset]:
    today = timezone.localdate()
    last_month = previous_month(today)
    return [
        Preset("7", _("7 days"), DayRange.last_days(7)),
        Preset("14", _("14 days"), DayRange.last_days(DAYS)),
        Preset("30", _("30 days"), DayRange.last_days(30)),
        Preset("90", _("90 days"), DayRange.last_days(90)),
        Preset("month", _("this month"), DayRange(today.replace(day=1), today)),
        Preset("last-month", _("last month"), DayRange(last_month, last_day(last_month))),
    ]


class PeriodForm(forms.Form):
    """`chosen` is always a period: what was asked for wrongly shows its error, and two weeks."""

    mode = LineField(required=False, widget=forms.HiddenInput)
    period = LineField(required=False, max_length=12)
    date_from = DayBoundField(label=_("From"), required=False)
    date_to = DayBoundField(label=_("To"), required=False)

    @cached_property
    def presets(self) -> list[Preset]:
        return presets()

    @property
    def is_own(self) -> bool:
        return self.data.get("period") == OWN

    @property
    def name(self) -> str:
        """The name of the shown period."""
        asked = self.data.get("period", "")
        known = {preset.name for preset in self.presets}
        return asked if asked in known or (self.is_own and self.is_valid()) else str(DAYS)

    @property
    def query(self) -> str:
        """For links to the same period."""
        if self.name != OWN:
            return f"&period={self.name}"
        shown = self.chosen()
        days = f"date_from={shown.first:%Y-%m-%d}&date_to={shown.last:%Y-%m-%d}"
        return f"&period={OWN}&{days}"

    def chosen(self) -> DayRange:
        if self.is_own and self.is_valid():
            return DayRange(self.cleaned_data["date_from"], self.cleaned_data["date_to"])
        return next(preset.shown for preset in self.presets if preset.name == self.name)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if self.is_own and not self.errors:
            today = timezone.localdate()
            last = min(data["date_to"] or today, today)
            first = data["date_from"] or last
            self._check(first, last)
            data["date_from"], data["date_to"] = first, last
        return data

    def _check(self, first: date, last: date) -> None:
        if first > last:
            raise ValidationError({"date_from": _("This day comes after the last one.")})
        if (last - first).days >= LONGEST:
            raise ValidationError({"date_from": _("A year at most.")})
