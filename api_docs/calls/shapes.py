"""How a call is written down: fields, answer, refusals. Pages and schema are made of it.

Schemas are JSON Schema with two marks of our own, which `published` translates: `nullable`, and
`title`, the name under which several fields share a choice of values.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.utils.functional import Promise

from accounts.models import Scope
from config.errors import Error
from config.texts import StrOrPromise

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a request, a query or an answer. `example` may hold lazy texts."""

    name: str
    schema: Schema
    words: StrOrPromise
    example: Any = None
    required: bool = True  # in a request: must be given; in an answer: is always there
    fields: "Fields" = ()  # of an object, or of the objects of an array

    def optional(self) -> "Field":
        return replace(self, required=False)

    def chosen(self) -> "Field":
        """The field where it must be given, and not as null."""
        return replace(self, schema=self.schema | {"nullable": False}, required=True)


@dataclass(frozen=True, slots=True)
class Shape:
    """Fields under a name: a component of the schema, to which all calls that have it refer."""

    name: str
    own: tuple[Field, ...]
    base: "Shape | None" = None  # whose fields come first

    def __iter__(self) -> Iterator[Field]:
        if self.base is not None:
            yield from self.base
        yield from self.own


Fields = tuple[Field, ...] | Shape


@dataclass(frozen=True, slots=True)
class Call:
    method: str
    path: str  # follows /api/v1
    name: str  # the operation's id, and the anchor of the page of all calls
    title: StrOrPromise
    purpose: StrOrPromise
    scope: Scope | None
    answer: Fields
    message: StrOrPromise  # what the success says
    body: Fields = ()
    one_of: tuple[str, ...] = ()  # of these fields of the body exactly one must be given
    query: tuple[Field, ...] = ()
    refusals: tuple[Error, ...] = ()
    page: str = "calls"  # the page that describes it at length

    @property
    def has_body(self) -> bool:
        return self.method in WITH_BODY

    @property
    def errors(self) -> list[Error]:
        """All that it may answer, in the order of the table of errors."""
        mine = {*ALWAYS, *self.refusals}
        if self.has_body:
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

    @property
    def title_name(self) -> str:
        """The operation's id as the beginning of a component's name."""
        return self.name[0].upper() + self.name[1:]

    def request_example(self) -> dict[str, Any]:
        return {field.name: field.example for field in self.body if field.example is not None}

    def answer_example(self) -> dict[str, Any]:
        body = {"success": True, "message": str(self.message)}
        return body | example_of(self.answer)


ALWAYS = (
    Error.INVALID_API_KEY,
    Error.FORBIDDEN,
    Error.RATE_LIMITED,
    Error.INTERNAL_ERROR,
    Error.UNAVAILABLE,
)
WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


def rendered(value: Any) -> Any:
    """The value with its lazy texts, also those inside, in the active language."""
    match value:
        case Promise():
            return str(value)
        case dict():
            return {name: rendered(one) for name, one in value.items()}
        case list():
            return [rendered(one) for one in value]
    return value


def example_of(fields: Fields) -> dict[str, Any]:
    """What is always there, and of the rest what has an example."""
    return {
        field.name: _example(field)
        for field in fields
        if field.required or field.example is not None or field.fields
    }


def _example(field: Field) -> Any:
    if field.fields and field.example is None:
        one = example_of(field.fields)
        return [one] if field.schema["type"] == "array" else one
    return rendered(field.example)


def schema_of(field: Field) -> Schema:
    """The field's schema with its description, whole: nested objects stand in it."""
    schema = published(field.schema) | {"description": str(field.words)}
    if not field.fields:
        return schema
    inner = object_of(field.fields)
    return schema | ({"items": inner} if is_array(schema) else inner)


def object_of(fields: Fields) -> Schema:
    return object_with({one.name: schema_of(one) for one in fields}, fields)


def object_with(properties: dict[str, Schema], fields: Fields) -> Schema:
    required = [field.name for field in fields if field.required]
    schema: Schema = {"type": "object", "properties": properties}
    return schema | ({"required": required} if required else {})


def is_array(schema: Schema) -> bool:
    return "array" in schema.get("type", ())


def published(schema: Schema) -> Schema:
    """As JSON Schema has it: without marks of ours."""
    made = {name: one for name, one in schema.items() if name not in {"nullable", "title"}}
    if "items" in made:
        made["items"] = published(made["items"])
    return made | {"type": [made["type"], "null"]} if schema.get("nullable") else made


# --- Kinds of values ---


def text(**more: Any) -> Schema:
    return {"type": "string"} | more


def identifier(prefix: str) -> Schema:
    """An id of `config.ids`. Clients treat it as opaque; its form helps to tell ids apart."""
    return text(pattern=f"^{prefix}_[0-9a-f]{{32}}$")


def choice(values: Iterable[str], name: str) -> Schema:
    """One of these, under a name that all fields with these values share."""
    return {"type": "string", "enum": list(values), "title": name}


def integer(least: int | None = None, most: int | None = None) -> Schema:
    bounds = {"minimum": least, "maximum": most}
    return {"type": "integer"} | {name: one for name, one in bounds.items() if one is not None}


def boolean() -> Schema:
    return {"type": "boolean"}


def time() -> Schema:
    return {"type": "string", "format": "date-time"}


def time_or_day() -> Schema:
    """What `accounts.api.query_params.time_of` reads; empty is as good as absent."""
    formats = [text(format=one) for one in ("date-time", "date")]
    return text(anyOf=[*formats, text(maxLength=0)])


def array(items: Schema | None = None) -> Schema:
    return {"type": "array", "items": items} if items else {"type": "array"}


def mapping() -> Schema:
    return {"type": "object"}


def nullable(schema: Schema) -> Schema:
    if "enum" in schema:
        schema = schema | {"enum": [*schema["enum"], None]}
    return schema | {"nullable": True}
