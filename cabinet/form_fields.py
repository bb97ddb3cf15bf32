"""Form fields for numbers as people type them (1 900, 1,900, −20) and for lists of countries."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import phonenumbers
from django import forms
from django.core.exceptions import ValidationError
from django.utils.formats import get_format, number_format
from django.utils.translation import gettext_lazy as _

from accounts.models import PURPOSE_LENGTH, Mode
from accounts.people import countries
from catalogue import languages
from parsing.form_fields import IntegerField, LineField, SplitField

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


class FilterForm(forms.Form):
    def chosen(self) -> dict[str, Any]:
        """The filters in use; an invalid field filters nothing and shows its error."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value}


class ModeFilterForm(FilterForm):
    mode = forms.ChoiceField(
        choices=Mode.choices, required=False, initial=Mode.LIVE, widget=forms.HiddenInput
    )

    @property
    def mode_chosen(self) -> str:
        return str(self.chosen().get("mode", Mode.LIVE))


class PurposeField(LineField):
    """What a code is for, in the client's own word."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
        kwargs |= {"required": False, "max_length": PURPOSE_LENGTH, "widget": widget}
        super().__init__(label=_("Purpose"), **kwargs)


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


SEPARATORS = re.compile(r"[,;\n]+")
GROUP_TITLES = {
    countries.CIS: _("CIS"),
    countries.EAEU: _("Eurasian Economic Union"),
    countries.EU: _("European Union"),
}


@dataclass(frozen=True, slots=True)
class Option:
    code: str
    name: str
    dial_code: int
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Region:
    name: str
    options: list[Option]

    @property
    def chosen(self) -> int:
        return sum(option.is_chosen for option in self.options)


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    title: Any
    codes: str


def groups() -> list[Group]:
    return [Group(name, title, countries.GROUPS[name]) for name, title in GROUP_TITLES.items()]


def by_region(codes: set[str]) -> list[Region]:
    return [
        Region(title, [_option(code, name, codes) for code, name in names.items()])
        for title, names in countries.by_region(languages.active())
    ]


def _option(code: str, name: str, codes: set[str]) -> Option:
    return Option(code, name, phonenumbers.country_code_for_region(code), code in codes)


class CountriesField(forms.MultipleChoiceField):
    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("choices", [(code, code) for code in sorted(countries.CODES)])
        super().__init__(required=False, **kwargs)


class CountryCodesField(SplitField):
    """Codes and names, separated by commas, spaces or lines; becomes a list of codes."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, max_length=2000, **kwargs)

    def split(self, text: str) -> list[str]:
        parts = [part.strip() for part in SEPARATORS.split(text)]
        return list(dict.fromkeys(code for part in parts if part for code in _codes(part)))


def _codes(part: str) -> list[str]:
    code = _code(part)
    return [code] if code else [_code(word) or _refuse(word) for word in part.split()]


def _code(text: str) -> str | None:
    """The country's code, from a code or a name in one of the languages."""
    return text.upper() if text.upper() in countries.CODES else _by_name().get(_plain(text))


@cache
def _by_name() -> dict[str, str]:
    return {
        _plain(name): code
        for language in languages.codes()
        for code, name in countries.names(language).items()
    }


def _plain(name: str) -> str:
    return name.casefold().replace("ё", "е")


def _refuse(word: str) -> str:
    raise ValidationError(_("%(code)s is not a country code."), params={"code": word})
