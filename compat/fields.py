"""Declares the fields of dialects' bodies, and reads objects within JSON.

A refusal names a field by the way to it: `options.locale`.
"""

from collections.abc import Mapping
from typing import Any

from api.calls import Field, Fields, Schema, text
from api.request_fields import NOT_A_CODE, RequestFields
from catalogue.errors import DomainError, Error, invalid_input
from parsing import clipboard

A_CODE = text(pattern="^[0-9A-Za-z]{4,10}$")
NOT_AN_OBJECT = "Must be an object"
READERS = {
    "string": RequestFields.text,
    "integer": RequestFields.integer,
    "boolean": RequestFields.boolean,
}


def needed(name: str, schema: Schema) -> Field:
    return Field(name, schema, "")


def optional(name: str, schema: Schema) -> Field:
    return Field(name, schema, "", required=False)


def guess(name: str, schema: Schema = A_CODE) -> Field:
    """A code as a person entered it."""
    return Field(name, schema, "", error=NOT_A_CODE, reading=clipboard.code)


def own_code(name: str) -> Field:
    """A code that the company made."""
    return Field(name, A_CODE, "", required=False, error=NOT_A_CODE)


def part(body: Mapping[str, Any], fields: Fields, *names: str) -> dict[str, Any] | None:
    """The valid values of these fields, by name; None where the object is absent or null, or one
    above it is: `part(body, REALM, "options", "app_realm")`.
    """
    value: Any = body
    for depth, name in enumerate(names, start=1):
        value = value.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise invalid_input(**{".".join(names[:depth]): NOT_AN_OBJECT})
    reader = RequestFields(value)
    read = {field.name: READERS[field.schema["type"]](reader, field) for field in fields}
    if reader.errors:
        errors = {".".join((*names, name)): problem for name, problem in reader.errors.items()}
        raise DomainError(Error.INVALID_INPUT, errors=errors)
    return read


def values(body: Mapping[str, Any], fields: Fields, *names: str) -> dict[str, Any]:
    """The same, where what is absent has nothing but absent fields."""
    return part(body, fields, *names) or dict.fromkeys(field.name for field in fields)
