"""How a call is written down: fields, answer, refusals. Pages and schema are made of it.

Schemas are JSON Schema as OpenAPI 3.0 has it, since generators for typed languages read no newer.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from accounts.models import Scope
from config.errors import Error, Words

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a request, a query or an answer. `example` may be Words."""

    name: str
    schema: Schema
    words: Words
    example: Any = None
    required: bool = True  # in a request: must be given; in an answer: is always there
    fields: "tuple[Field, ...]" = ()  # of an object, or of the objects of an array

    def optional(self) -> "Field":
        return replace(self, required=False)


@dataclass(frozen=True, slots=True)
class Call:
    method: str
    path: str  # follows /api/v1
    name: str  # the operation's id, and the anchor of the page of all calls
    title: Words
    purpose: Words
    scope: Scope | None
    answer: tuple[Field, ...]
    message: Words  # what the success says
    body: tuple[Field, ...] = ()
    query: tuple[Field, ...] = ()
    refusals: tuple[Error, ...] = ()
    page: str = "calls"  # the page that describes it at length

    @property
    def errors(self) -> list[Error]:
        """All that it may answer, in the order of the table of errors."""
        mine = {*ALWAYS, *self.refusals}
        if self.method in WITH_BODY:
            mine |= {Error.INVALID_INPUT, Error.UNSUPPORTED_MEDIA_TYPE}
        if self.method == "POST":
            mine |= {Error.IDEMPOTENCY_MISMATCH, Error.REQUEST_IN_PROGRESS}
        if "{" in self.path:
            mine.add(Error.NOT_FOUND)
        return [error for error in Error if error in mine]

    @property
    def own_errors(self) -> list[Error]:
        """Those that are worth a line on the call's own page."""
        return [error for error in Error if error in self.refusals]

    def request_example(self) -> dict[str, Any]:
        return {field.name: field.example for field in self.body if field.example is not None}

    def answer_example(self, language: str) -> dict[str, Any]:
        body = {"success": True, "message": worded(self.message, language)}
        return body | example_of(self.answer, language)


ALWAYS = (
    Error.INVALID_API_KEY,
    Error.FORBIDDEN,
    Error.RATE_LIMITED,
    Error.INTERNAL_ERROR,
    Error.UNAVAILABLE,
)
WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


def worded(words: Any, language: str) -> Any:
    """The text of `Words` in a language; anything else as it is."""
    if isinstance(words, tuple) and len(words) == 2:
        return words[1 if language == "en" else 0]
    return words


def example_of(fields: tuple[Field, ...], language: str) -> dict[str, Any]:
    """What is always there, and of the rest what has an example."""
    return {
        field.name: _example(field, language)
        for field in fields
        if field.required or field.example is not None or field.fields
    }


def _example(field: Field, language: str) -> Any:
    if field.fields and field.example is None:
        one = example_of(field.fields, language)
        return [one] if field.schema["type"] == "array" else one
    return worded(field.example, language)


def schema_of(field: Field, language: str) -> Schema:
    """The field's schema with its description, and of nested fields too."""
    schema = dict(field.schema) | {"description": worded(field.words, language)}
    if field.fields:
        inner = object_of(field.fields, language)
        if schema["type"] == "array":
            return schema | {"items": inner}
        return schema | inner
    return schema


def object_of(fields: tuple[Field, ...], language: str) -> Schema:
    schema: Schema = {
        "type": "object",
        "properties": {field.name: schema_of(field, language) for field in fields},
    }
    required = [field.name for field in fields if field.required]
    return schema | ({"required": required} if required else {})


# --- Kinds of values ---


def text(**more: Any) -> Schema:
    return {"type": "string"} | more


def choice(values: Iterable[str]) -> Schema:
    return {"type": "string", "enum": list(values)}


def integer(least: int | None = None, most: int | None = None) -> Schema:
    bounds = {"minimum": least, "maximum": most}
    return {"type": "integer"} | {name: one for name, one in bounds.items() if one is not None}


def boolean() -> Schema:
    return {"type": "boolean"}


def time() -> Schema:
    return {"type": "string", "format": "date-time"}


def array(items: Schema | None = None) -> Schema:
    return {"type": "array", "items": items} if items else {"type": "array"}


def mapping() -> Schema:
    return {"type": "object"}


def nullable(schema: Schema) -> Schema:
    if "enum" in schema:
        schema = schema | {"enum": [*schema["enum"], None]}
    return schema | {"nullable": True}
