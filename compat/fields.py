"""Declares the fields of dialects' bodies, and reads nested JSON objects.

Errors name a field by its path: `options.locale`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError

from api.calls import Field, Fields, Schema, text
from api.request_fields import RequestFields
from catalogue import custom_codes
from catalogue.errors import DomainError, Error, invalid_input
from catalogue.texts import StrOrPromise
from parsing import clipboard

A_CODE = text(pattern=f"^{custom_codes.PATTERN}$")
NOT_AN_OBJECT = "Must be an object"
READERS = {
    "string": RequestFields.text,
    "integer": RequestFields.integer,
    "boolean": RequestFields.boolean,
}


@dataclass(frozen=True, slots=True)
class ParsedField(Field):
    """A field whose valid value goes through `parse`; a ValidationError is the field's error."""

    parse: Callable[[Any], Any] = bool


def required(name: str, schema: Schema) -> Field:
    return Field(name, schema, "")


def optional(name: str, schema: Schema, error: StrOrPromise | None = None) -> Field:
    return Field(name, schema, "", required=False, error=error)


def parsed(name: str, schema: Schema, parse: Callable[[Any], Any]) -> ParsedField:
    return ParsedField(name, schema, "", required=False, parse=parse)


def entered_code(name: str, schema: Schema = A_CODE) -> Field:
    """A code as a person entered it."""
    return Field(name, schema, "", error=custom_codes.WRONG_FORM, normalise=clipboard.code)


def custom_code(name: str) -> Field:
    """A code chosen by the company."""
    return optional(name, A_CODE, custom_codes.WRONG_FORM)


class Body(RequestFields):
    """A body whose fields are all read: `body["Channel"]` is None if absent or invalid.

    `check` raises all their errors, and those added later.
    """

    def __init__(self, payload: Mapping[str, Any], fields: Fields) -> None:
        super().__init__(payload)
        self.values = {field.name: self._parse(field) for field in fields}

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def _parse(self, field: Field) -> Any:
        value = READERS[field.schema["type"]](self, field)
        if value is None or not isinstance(field, ParsedField):
            return value
        try:
            return field.parse(value)
        except ValidationError as error:
            self.errors[field.name] = list(error.messages)
            return None


def part(body: Mapping[str, Any], fields: Fields, *names: str) -> dict[str, Any] | None:
    """The valid values of a nested object's fields, by name: `part(body, REALM, "options", "app")`.

    None if the object, or an object around it, is absent or null.
    """
    value: Any = body
    for depth, name in enumerate(names, start=1):
        value = value.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise invalid_input(**{".".join(names[:depth]): NOT_AN_OBJECT})
    read = Body(value, fields)
    if read.errors:
        errors = {".".join((*names, name)): problem for name, problem in read.errors.items()}
        raise DomainError(Error.INVALID_INPUT, errors=errors)
    return read.values


def values(body: Mapping[str, Any], fields: Fields, *names: str) -> dict[str, Any]:
    """The values of a nested object's fields, all None if it is absent."""
    return part(body, fields, *names) or dict.fromkeys(field.name for field in fields)
