"""Validates request fields without a Serializer, which costs more than the hot calls themselves.

All errors are collected, so a client sees every invalid field at once.
"""

from collections.abc import Mapping
from typing import Any
from unicodedata import category

from config.errors import DomainError, Error, Words

REQUIRED: Words = ("Обязательное поле", "This field is required")
NOT_TEXT: Words = ("Должна быть строка", "Must be a string")
NOT_BOOLEAN: Words = ("Должно быть true или false", "Must be true or false")
NOT_INTEGER: Words = ("Должно быть целое число", "Must be an integer")
UNPRINTABLE: Words = (
    "Только печатные символы, без переводов строки",
    "Printable characters only, no line breaks",
)
_CONTROLS = {"Cc", "Cs", "Zl", "Zp"}


class Fields:
    """`null` means absent for an optional field; unknown fields are ignored."""

    def __init__(self, payload: Mapping[str, Any]) -> None:
        self.payload = payload
        self.errors: dict[str, list[Words]] = {}

    def fault(self, name: str, words: Words) -> None:
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
            self.fault(name, (f"Не длиннее {longest} символов", f"At most {longest} characters"))
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
            self.fault(name, (f"От {least} до {most}", f"Between {least} and {most}"))
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
            words = ", ".join(allowed)
            self.fault(name, (f"Допустимо: {words}", f"Allowed: {words}"))
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
