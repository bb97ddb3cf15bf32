"""Countries picked from a list by regions, or pasted as codes and names; without JavaScript too."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import phonenumbers
from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.people import countries

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


def by_region(chosen: set[str]) -> list[Region]:
    return [
        Region(title, [_option(code, name, chosen) for code, name in names.items()])
        for title, names in countries.by_region(countries.interface_language())
    ]


def _option(code: str, name: str, chosen: set[str]) -> Option:
    return Option(code, name, phonenumbers.country_code_for_region(code), code in chosen)


class CountriesField(forms.MultipleChoiceField):
    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("choices", [(code, code) for code in sorted(countries.CODES)])
        super().__init__(required=False, **kwargs)


class CountryCodesField(forms.CharField):
    """Codes and names, separated by commas, spaces or lines; becomes a list of codes."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, max_length=2000, **kwargs)

    def to_python(self, value: str | None) -> list[str]:  # type: ignore[override]
        parts = [part.strip() for part in SEPARATORS.split(value or "")]
        return list(dict.fromkeys(code for part in parts if part for code in _codes(part)))


def _codes(part: str) -> list[str]:
    whole = _code(part)
    return [whole] if whole else [_code(word) or _refuse(word) for word in part.split()]


def _code(text: str) -> str | None:
    """Of a code, or of a name in one of the languages."""
    return text.upper() if text.upper() in countries.CODES else _by_name().get(_plain(text))


@cache
def _by_name() -> dict[str, str]:
    return {
        _plain(name): code
        for language in ("en", "ru")
        for code, name in countries.names(language).items()
    }


def _plain(name: str) -> str:
    return name.casefold().replace("ё", "е")


def _refuse(word: str) -> str:
    raise ValidationError(_("%(code)s is not a country code."), params={"code": word})
