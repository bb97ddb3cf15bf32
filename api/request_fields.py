"""Reads declared fields and query parameters. A serializer would cost more than the hot calls.

All errors are collected, so a client sees every invalid field at once.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from difflib import get_close_matches
from itertools import islice
from typing import Any, NotRequired, TypedDict

from django.http import QueryDict
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from api.calls import Call, Field, Fields, Shape, array, text
from api.pagination import limit_of
from catalogue.errors import DomainError, Error
from catalogue.texts import StrOrPromise
from parsing import characters
from parsing.days import parse_moment
from parsing.integers import json_integer

MAX_WARNINGS = 50  # a body may have thousands of names, and each is compared with those declared
MAX_NAME = 64  # characters of a name that are shown
CODE = "unknown_field"


class FieldWarning(TypedDict):
    code: str
    field: str
    did_you_mean: NotRequired[str]


WARNINGS = Field(
    "warnings",
    array(),
    _(
        "Request fields that the call does not know and ignored; absent if there are none. With "
        "the header `Kvitok-Strict: 1` the request is refused."
    ),
    required=False,
    fields=Shape(
        "Warning",
        (
            Field("code", text(), _("`unknown_field`. New codes may be added."), CODE),
            Field("field", text(), _("The name as it was sent."), "chanel"),
            Field(
                "did_you_mean",
                text(),
                _("The field that was probably meant, if there is one of a similar name."),
                "channel",
                required=False,
            ),
        ),
    ),
)


def warnings_of(payload: Mapping[str, Any], call: Call) -> list[FieldWarning]:
    """At most MAX_WARNINGS of them, each name once. Quick where every name is declared."""
    if payload.keys() <= call.field_names and not call.has_nested_fields:
        return []
    unknown = dict.fromkeys(_unknown_names(payload, call.body))
    return [_warning(name, call) for name in islice(unknown, MAX_WARNINGS)]


def _unknown_names(payload: Mapping[str, Any], fields: Fields, above: str = "") -> Iterator[str]:
    """`chanel`, and `links[].alais` for a field of an array's objects."""
    names = {field.name for field in fields}
    yield from (above + name for name in payload if name not in names)
    for field in fields:
        items = payload.get(field.name) if field.fields else None
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict):
                yield from _unknown_names(item, field.fields, f"{above}{field.name}[].")


def _warning(name: str, call: Call) -> FieldWarning:
    warning = FieldWarning(code=CODE, field=name[:MAX_NAME])
    suggestion = meant(name, call.body_names())
    return warning | {"did_you_mean": suggestion} if suggestion else warning


def errors_of(warnings: Iterable[FieldWarning], call: Call) -> dict[str, list[StrOrPromise]]:
    names = call.body_names()
    return {item["field"]: [refusal_text(item.get("did_you_mean"), names)] for item in warnings}


def meant(name: str, allowed: Iterable[str]) -> str | None:
    """The known name most like this one, of the same object; `linkExpiresIn` is `link_expires_in`.

    `links[].tags` has more in common with `links[].alias` than `tags` with `alias`.
    """
    above, last = _split(name[:MAX_NAME])
    spelled = {
        _bare(end): key for key in allowed for parent, end in [_split(key)] if parent == above
    }
    matches = get_close_matches(_bare(last), spelled, n=1)
    return spelled[matches[0]] if matches else None


def _split(name: str) -> tuple[str, str]:
    """`links[].`, and `url`."""
    above, dot, last = name.rpartition(".")
    return above + dot, last


def _bare(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def refusal_text(suggestion: str | None, allowed: Collection[str]) -> StrOrPromise:
    if suggestion:
        return format_lazy(_("Unknown; did you mean {name}?"), name=suggestion)
    if allowed:
        return format_lazy(_("Unknown; allowed: {names}"), names=", ".join(allowed))
    return _("Unknown; this call takes none")


REQUIRED = _("This field is required")
NOT_TEXT = _("Must be a string")
NOT_BOOLEAN = _("Must be true or false")
NOT_INTEGER = _("Must be an integer")
WRONG_FORMAT = _("Wrong format")
NOT_A_CODE = _("A string of 4 to 10 Latin letters or digits")
UNPRINTABLE = _("Printable characters only, no line breaks")
MAX_TEXT = 10_000  # characters, where nothing else bounds a text

TWICE = _("Specify this parameter once")
NOT_A_TIME = _("A time in ISO 8601, for example 2026-01-31T10:00:00Z")


class RequestFields:
    """Reads a request's declared fields: `fields.text(PHONE)`.

    `null` means absent for an optional field, and so does an empty text, but where it has a meaning
    of its own.
    """

    def __init__(self, payload: Mapping[str, Any]) -> None:
        self.payload = payload
        self.errors: dict[str, list[StrOrPromise]] = {}

    def add_error(self, field: Field, message: StrOrPromise) -> None:
        self.errors.setdefault(field.name, []).append(message)

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Adds to the errors those of fields that a use case refuses inside."""
        try:
            yield
        except DomainError as refused:
            if not refused.errors:
                raise
            self.errors |= refused.errors

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
        """The items are not validated: each may be refused. Empty when there is an error."""
        value = self.payload.get(field.name)
        least, most = field.schema["minItems"], field.schema["maxItems"]
        if isinstance(value, list) and least <= len(value) <= most:
            return value
        self.add_error(field, field.error or WRONG_FORMAT)
        return []

    def _valid(self, field: Field, error_of: Callable[[Any, Field], StrOrPromise | None]) -> Any:
        value = self.payload.get(field.name)
        if field.reading is not None and isinstance(value, str):
            value = field.reading(value)
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
    least, most = schema.get("minLength", 0), schema.get("maxLength", MAX_TEXT)
    if len(value) > most:
        return field.error or _at_most(most)
    if len(value) < least:
        return field.error or format_lazy(_("{min} to {max} characters"), min=least, max=most)
    if "enum" in schema and value not in schema["enum"]:
        return allowed_values(schema["enum"])
    if "pattern" in schema and not re.fullmatch(schema["pattern"], value):
        return field.error or WRONG_FORMAT
    return None


def _integer_error(value: object, field: Field) -> StrOrPromise | None:
    number = json_integer(value)
    if number is None:
        return NOT_INTEGER
    least, most = field.schema["minimum"], field.schema["maximum"]
    if not least <= number <= most:
        return format_lazy(_("Between {min} and {max}"), min=least, max=most)
    return None


def _boolean_error(value: object, _field: Field) -> StrOrPromise | None:
    return None if isinstance(value, bool) else NOT_BOOLEAN


def _at_most(most: int) -> StrOrPromise:
    return format_lazy(_("At most {max} characters"), max=most)


def allowed_values(values: Iterable[str | None]) -> StrOrPromise:
    choices = ", ".join(value for value in values if value is not None)
    return format_lazy(_("Allowed: {choices}"), choices=choices)


class QueryFields(RequestFields):
    """Reads declared query parameters. An empty one is as good as none."""

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
    """Raises `invalid_input` for each parameter that is unknown or given twice.

    A misspelled `?staus=failed` would otherwise return the unfiltered list, and
    `?status=failed&status=expired` half of the requested rows.
    """
    unknown = sorted(query.keys() - set(allowed))[:MAX_WARNINGS]
    errors: dict[str, list[StrOrPromise]] = {
        name: [refusal_text(meant(name, allowed), allowed)] for name in unknown
    }
    errors |= {name: [TWICE] for name in allowed if len(query.getlist(name)) > 1}
    if errors:
        raise DomainError(Error.INVALID_INPUT, errors=errors)
