"""Reads declared fields and query parameters. DRF serializers would cost more than the rest of a
frequent call. All errors are collected, so a client sees every invalid field at once.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.http import QueryDict
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from api.calls import Field
from api.pagination import limit_of
from api.unknown_fields import MAX_WARNINGS, closest_name, refusal_text
from catalogue.errors import DomainError, Error
from catalogue.texts import StrOrPromise
from parsing import characters
from parsing.days import parse_moment
from parsing.integers import json_integer

REQUIRED = _("This field is required")
NOT_TEXT = _("Must be a string")
NOT_BOOLEAN = _("Must be true or false")
NOT_INTEGER = _("Must be an integer")
WRONG_FORMAT = _("Wrong format")
UNPRINTABLE = _("Printable characters only, no line breaks")
MAX_TEXT = 10_000  # characters, where nothing else bounds a text

TWICE = _("Specify this parameter once")
NOT_A_TIME = _("A time in ISO 8601, for example 2026-01-31T10:00:00Z")


class RequestFields:
    """Reads a request's declared fields: `fields.text(PHONE)`.

    For an optional field `null` means missing, and so does an empty text, unless it has a meaning
    of its own.
    """

    def __init__(self, payload: Mapping[str, Any]) -> None:
        self.payload = payload
        self.errors: dict[str, list[StrOrPromise]] = {}

    def add_error(self, field: Field, message: StrOrPromise) -> None:
        self.errors.setdefault(field.name, []).append(message)

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Collects the field errors that a use case raises inside."""
        try:
            yield
        except DomainError as error:
            if not error.errors:
                raise
            self.errors |= error.errors

    def check(self) -> None:
        if self.errors:
            raise DomainError(Error.INVALID_INPUT, errors=self.errors)

    def text(self, field: Field) -> str | None:
        value: str | None = self._valid(field, _text_error)
        return value

    def integer(self, field: Field) -> int | None:
        return json_integer(self._valid(field, _integer_error))

    def boolean(self, field: Field) -> bool | None:
        value: bool | None = self._valid(field, _boolean_error)
        return value

    def array(self, field: Field) -> list[Any]:
        """The items, which are not validated yet; empty if there is an error."""
        value = self.payload.get(field.name)
        minimum, maximum = field.schema["minItems"], field.schema["maxItems"]
        if isinstance(value, list) and minimum <= len(value) <= maximum:
            return value
        self.add_error(field, field.error or WRONG_FORMAT)
        return []

    def _valid(self, field: Field, error_of: Callable[[Any, Field], StrOrPromise | None]) -> Any:
        value = self.payload.get(field.name)
        if field.normalise is not None and isinstance(value, str):
            value = field.normalise(value)
        if value is None:
            if field.required:
                self.add_error(field, REQUIRED)
            return None
        error = error_of(value, field)
        if error is not None:
            self.add_error(field, error)
            return None
        return value


def _text_error(value: object, field: Field) -> StrOrPromise | None:
    if not isinstance(value, str):
        return NOT_TEXT
    if not value and field.required:
        return REQUIRED
    if not field.is_checked_later and (error := _bounds_error(value, field)):
        return error
    if len(value) > MAX_TEXT:
        return _at_most(MAX_TEXT)
    is_clean = characters.is_text if field.is_multiline else characters.is_line
    return None if is_clean(value) else UNPRINTABLE


def _bounds_error(value: str, field: Field) -> StrOrPromise | None:
    schema = field.schema
    minimum, maximum = schema.get("minLength", 0), schema.get("maxLength", MAX_TEXT)
    if len(value) > maximum:
        return field.error or _at_most(maximum)
    if len(value) < minimum:
        return field.error or format_lazy(_("{min} to {max} characters"), min=minimum, max=maximum)
    if "enum" in schema and value not in schema["enum"]:
        return allowed_values(schema["enum"])
    if "pattern" in schema and not re.fullmatch(schema["pattern"], value):
        return field.error or WRONG_FORMAT
    return None


def _integer_error(value: object, field: Field) -> StrOrPromise | None:
    number = json_integer(value)
    if number is None:
        return NOT_INTEGER
    minimum, maximum = field.schema["minimum"], field.schema["maximum"]
    if not minimum <= number <= maximum:
        return format_lazy(_("Between {min} and {max}"), min=minimum, max=maximum)
    return None


def _boolean_error(value: object, _field: Field) -> StrOrPromise | None:
    return None if isinstance(value, bool) else NOT_BOOLEAN


def _at_most(maximum: int) -> StrOrPromise:
    return format_lazy(_("At most {max} characters"), max=maximum)


def allowed_values(values: Iterable[str | None]) -> StrOrPromise:
    choices = ", ".join(value for value in values if value is not None)
    return format_lazy(_("Allowed: {choices}"), choices=choices)


class QueryFields(RequestFields):
    """Reads declared query parameters. An empty parameter counts as missing."""

    def __init__(self, query: Mapping[str, str]) -> None:
        super().__init__({name: text for name, text in query.items() if text})

    def check(self) -> None:
        with self.collecting():
            limit_of(self.payload)
        super().check()

    def time(self, field: Field) -> datetime | None:
        """An ISO 8601 time, or a date as its start in UTC."""
        text = self.payload.get(field.name)
        moment = parse_moment(text) if text else None
        if text and moment is None:
            self.add_error(field, NOT_A_TIME)
        return moment


def check_names(query: QueryDict, allowed: Collection[str]) -> None:
    """Raises `invalid_input` for each unknown or repeated parameter.

    A misspelled `?staus=failed` would otherwise return the unfiltered list, and
    `?status=failed&status=expired` half of the requested rows.
    """
    unknown = sorted(query.keys() - set(allowed))[:MAX_WARNINGS]
    errors: dict[str, list[StrOrPromise]] = {
        name: [refusal_text(closest_name(name, allowed), allowed)] for name in unknown
    }
    errors |= {name: [TWICE] for name in allowed if len(query.getlist(name)) > 1}
    if errors:
        raise DomainError(Error.INVALID_INPUT, errors=errors)
