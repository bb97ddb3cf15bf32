"""Validates request fields without a Serializer, which costs more than the hot calls themselves.

All errors are collected, so a client sees every invalid field at once.
"""

from collections.abc import Mapping
from typing import Any
from unicodedata import category

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from config.errors import DomainError, Error
from config.texts import StrOrPromise

REQUIRED = _("This field is required")
NOT_TEXT = _("Must be a string")
NOT_BOOLEAN = _("Must be true or false")
NOT_INTEGER = _("Must be an integer")
UNPRINTABLE = _("Printable characters only, no line breaks")
_CONTROLS = {"Cc", "Cs", "Zl", "Zp"}


class Fields:
    """`null` means absent for an optional field; unknown fields are ignored."""

    def __init__(self, payload: Mapping[str, Any]) -> None:
        self.payload = payload
        self.errors: dict[str, list[StrOrPromise]] = {}

    def fault(self, name: str, words: StrOrPromise) -> None:
        self.errors.setdefault(name, []).append(words)

    def text(
        self, name: str, *, required: bool = False, longest: int = 10_000, multiline: bool = False
    ) -> str | None:
        value = self.payload.get(name)
        if value is None:
            if required:
                self.fault(name, REQUIRED)
            return None
        if not isinstance(value, str):
            self.fault(name, NOT_TEXT)
            return None
        if required and not value:
            self.fault(name, REQUIRED)
            return None
        if len(value) > longest:
            self.fault(name, format_lazy(_("At most {max} characters"), max=longest))
            return None
        if not _is_clean(value, multiline=multiline):
            self.fault(name, UNPRINTABLE)
            return None
        return value

    def integer(self, name: str, *, least: int, most: int) -> int | None:
        value = self.payload.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            self.fault(name, NOT_INTEGER)
            return None
        if not least <= value <= most:
            self.fault(name, format_lazy(_("Between {min} and {max}"), min=least, max=most))
            return None
        return value

    def boolean(self, name: str) -> bool | None:
        value = self.payload.get(name)
        if value is not None and not isinstance(value, bool):
            self.fault(name, NOT_BOOLEAN)
            return None
        return value

    def choice(self, name: str, allowed: list[str]) -> str | None:
        value = self.text(name)
        if value is not None and value not in allowed:
            choices = ", ".join(allowed)
            self.fault(name, format_lazy(_("Allowed: {choices}"), choices=choices))
            return None
        return value

    def check(self) -> None:
        if self.errors:
            raise DomainError(Error.INVALID_INPUT, errors=self.errors)


def _is_clean(text: str, *, multiline: bool) -> bool:
    """No control characters. Multiline texts may hold line ends and the joiners of emoji."""
    if multiline:
        return all(char in "\r\n\t" or category(char) not in _CONTROLS for char in text)
    return text.replace("\u00a0", " ").isprintable()
