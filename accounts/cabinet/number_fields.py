"""Form fields for numbers as people type them: 1 900 (any space), 1,900, −20."""

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.formats import get_format, number_format

from config.input.form_fields import IntegerField

# \s includes the no-break spaces that spreadsheets and our own pages print.
SPACES = re.compile(r"\s+")
# A comma before exactly three digits groups them, whatever the language: tokens have no fractions.
GROUPS = re.compile(r"[-+]?\d{1,3}(,\d{3})+")
GROUPS_AND_FRACTION = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")


def grouped(number: int) -> str:
    """1234567 → 1 234 567, by the active language."""
    return str(number_format(number, use_l10n=True, force_grouping=True))


def ungrouped(text: str) -> str:
    return SPACES.sub("", text).replace("\u2212", "-")


class GroupedIntegerField(IntegerField):
    """A whole number. Its widget is text: `<input type=number>` refuses spaces by itself."""

    def __init__(self, **kwargs: Any) -> None:
        attrs = {"inputmode": "numeric", "autocomplete": "off"}
        kwargs.setdefault("widget", forms.TextInput(attrs=attrs))
        super().__init__(**kwargs)

    def prepare_value(self, value: Any) -> Any:
        return grouped(value) if isinstance(value, int) else value

    def to_python(self, value: Any) -> int | None:
        if isinstance(value, str):
            value = ungrouped(value)
            value = value.replace(",", "") if GROUPS.fullmatch(value) else value
        return super().to_python(value)


class GroupedDecimalField(forms.DecimalField):
    """An amount of money. The language decides about commas: 1 900,00 or 1,900.00."""

    def __init__(self, **kwargs: Any) -> None:
        attrs = {"inputmode": "decimal", "autocomplete": "off"}
        kwargs.setdefault("widget", forms.TextInput(attrs=attrs))
        kwargs.setdefault("localize", True)
        super().__init__(**kwargs)

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str):
            value = ungrouped(value)
            groups = get_format("DECIMAL_SEPARATOR") == "." and GROUPS_AND_FRACTION.fullmatch(value)
            value = value.replace(",", "") if groups else value
            if "_" in value:  # which Python reads
                raise ValidationError(self.error_messages["invalid"], code="invalid")
        return super().to_python(value)
