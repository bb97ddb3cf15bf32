"""Declares the fields of API calls. Parser, documentation pages and OpenAPI all read these.

A field's type is a JSON Schema with two additions, which `api_docs.schema` translates: `nullable`,
and `title`, the name under which several fields share an enumeration.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from config.texts import StrOrPromise

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a request, a query string or a response."""

    name: str
    schema: Schema
    description: StrOrPromise
    example: Any = None  # may hold lazy texts
    required: bool = True  # in a request: must be given; in a response: is always present
    fields: "Fields" = ()  # of an object, or of the objects of an array
    # The error for a value outside of the schema's bounds; by default it is made from them.
    error: StrOrPromise | None = None
    # True: a use case checks the bounds and raises an error of its own, `url_not_allowed` say.
    is_checked_later: bool = False
    is_multiline: bool = False  # a text that may hold line ends
    # What is made of a text before it is checked: of how people and their clipboards write it.
    reading: Callable[[str], str] | None = None
    # In a response: an attribute of the object that it describes, or what makes the value of it.
    source: str | Callable[[Any], Any] | None = None

    def optional(self) -> "Field":
        return replace(self, required=False)

    def chosen(self) -> "Field":
        """The field where it must be given, and not as null."""
        return replace(self, schema=self.schema | {"nullable": False}, required=True)


@dataclass(frozen=True, slots=True)
class Shape:
    """Named fields: one component of the OpenAPI schema, to which all calls that use it refer."""

    name: str
    own: tuple[Field, ...]
    base: "Shape | None" = None  # whose fields come first

    def body_of(self, row: Any) -> dict[str, Any]:
        return body_of(row, self)

    def __iter__(self) -> Iterator[Field]:
        if self.base is not None:
            yield from self.base
        yield from self.own


Fields = tuple[Field, ...] | Shape


def body_of(row: Any, fields: Fields) -> dict[str, Any]:
    """The response of an object, by each field's `source`. Fields without one are left out."""
    return {field.name: _value(row, field.source) for field in fields if field.source}


def _value(row: Any, source: str | Callable[[Any], Any]) -> Any:
    return getattr(row, source) if isinstance(source, str) else source(row)


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
    """Every field that is always present, and each other one that has an example."""
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


# --- Types ---


def text(**more: Any) -> Schema:
    return {"type": "string"} | more


def identifier(prefix: str) -> Schema:
    """An id of `config.ids`. Clients treat it as opaque; its form helps to tell ids apart."""
    return text(pattern=f"^{prefix}_[0-9a-f]{{32}}$")


def choice(values: Iterable[str], name: str) -> Schema:
    """One of these values. All fields with these values share the name."""
    return {"type": "string", "enum": list(values), "title": name}


def integer(least: int | None = None, most: int | None = None) -> Schema:
    bounds = {"minimum": least, "maximum": most}
    return {"type": "integer"} | {name: one for name, one in bounds.items() if one is not None}


def boolean() -> Schema:
    return {"type": "boolean"}


def time() -> Schema:
    return {"type": "string", "format": "date-time"}


TIME_OR_DAY = r"^(\d{4}-\d{2}-\d{2}.*)?$"


def time_or_day() -> Schema:
    """Read by `accounts.api.request_fields.QueryFields.time`; an empty value is as good as none.

    A pattern and not `anyOf` two formats, of which generators make a class without a value.
    """
    return text(pattern=TIME_OR_DAY)


def array(items: Schema | None = None) -> Schema:
    return {"type": "array", "items": items} if items else {"type": "array"}


def mapping() -> Schema:
    return {"type": "object"}


def nullable(schema: Schema) -> Schema:
    if "enum" in schema:
        schema = schema | {"enum": [*schema["enum"], None]}
    return schema | {"nullable": True}


TEST = Field(
    "test",
    boolean(),
    _("`true` if the request was made with a test key."),
    False,
    source=lambda row: row.mode == "test",
)
LIMIT = Field(
    "limit",
    integer(1, 200),
    _("The number of items per page, 50 by default."),
    required=False,
)
CURSOR = Field(
    "cursor",
    text(),
    _("The `next_cursor` of the previous page."),
    required=False,
)
HAS_MORE = Field(
    "has_more",
    boolean(),
    _(
        "Whether there may be more items after this page. A page of a filtered list may have "
        "fewer items than `limit`, even none, before the last page."
    ),
    False,
)
NEXT_CURSOR = Field(
    "next_cursor",
    nullable(text()),
    _("The value to pass as `cursor` to get the next page; `null` on the last page."),
    None,
)
REQUEST_ID = Field(
    "request_id",
    text(pattern="^req_[0-9a-f]{22}$"),
    _("The id of the request, also sent as `X-Request-Id`."),
    "req_6f1d2c3b4a59687766aa00",
    source="request_id",
)
