"""Forms of the pages of documents."""

from datetime import date, timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext_lazy as _

from billing.documents.period_statement import MAX_MONTHS
from billing.seals.statement_check import MAX_BYTES
from config.input.form_fields import DayField

YEAR = timedelta(days=31 * MAX_MONTHS)


class PeriodForm(forms.Form):
    """Whole days, the last one included. `earliest`: before it nothing is known."""

    date_from = DayField(label=_("From"))
    date_to = DayField(label=_("To"))

    def __init__(self, *args: Any, earliest: date | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.earliest = earliest

    def clean_date_from(self) -> date:
        first: date = self.cleaned_data["date_from"]
        if self.earliest and first < self.earliest:
            day = date_format(self.earliest, "j E Y")
            raise ValidationError(_("Not before %(day)s."), params={"day": day})
        if first.year < 2000:
            raise ValidationError(_("Not before %(day)s."), params={"day": "2000"})
        return first

    def clean_date_to(self) -> date:
        last: date = self.cleaned_data["date_to"]
        if last > timezone.localdate():
            raise ValidationError(_("Not after today."))
        return last

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        first, last = data.get("date_from"), data.get("date_to")
        if first and last and last < first:
            self.add_error("date_to", _("The end is before the beginning."))
        elif first and last and last - first > YEAR:
            self.add_error("date_to", _("At most three years at once."))
        return data


class StatementCheckForm(forms.Form):
    file = forms.FileField(
        label=_("Statement (CSV)"),
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,text/csv"}),
    )

    def clean_file(self) -> bytes:
        file = self.cleaned_data["file"]
        if file.size > MAX_BYTES:
            raise ValidationError(
                _("The file is larger than 3 MB: check it with the program on your computer.")
            )
        content: bytes = file.read()
        return content
