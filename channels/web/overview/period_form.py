"""The period that the overview shows: a preset, or days of one's own."""

from datetime import date
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from channels.history.figures import DAYS, DayRange
from channels.web.day_presets import DayPreset, presets
from parsing.form_fields import DayBoundField, LineField

MAX_DAYS = 366
OWN = "days"


class PeriodForm(forms.Form):
    """`chosen` is always a period: what was asked for wrongly shows its error, and two weeks."""

    mode = LineField(required=False, widget=forms.HiddenInput)
    period = LineField(required=False, max_length=12)
    date_from = DayBoundField(label=_("From"), required=False)
    date_to = DayBoundField(label=_("To"), required=False)

    @cached_property
    def presets(self) -> list[DayPreset]:
        return presets("7", "14", "30", "90", "month", "last-month")

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
        shown = {preset.name: preset.shown for preset in self.presets}[self.name]
        return shown or DayRange.last_days(DAYS)

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
        if (last - first).days >= MAX_DAYS:
            raise ValidationError({"date_from": _("A year at most.")})
