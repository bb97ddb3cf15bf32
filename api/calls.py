"""Declares API calls: route, scope, fields, errors and texts, for views, documentation and OpenAPI.

A field's type is a JSON Schema with two additions, which `api_docs.schema` translates: `nullable`,
and `title`, the name of an enumeration that several fields share.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import Scope
from catalogue.errors import Error
from catalogue.texts import StrOrPromise

Schema = dict[str, Any]
COMMON_ERRORS = (
    Error.INVALID_API_KEY,
    Error.FORBIDDEN,
    Error.RATE_LIMITED,
    Error.INTERNAL_ERROR,
    Error.UNAVAILABLE,
)
METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
CHANGING_METHODS = frozenset({"PATCH", "DELETE"})


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a request, a query string or a response."""

    name: str
    schema: Schema
    description: StrOrPromise
    example: Any = None  # may contain lazy texts
    required: bool = True  # in a request: must be given; in a response: is always present
    fields: "Fields" = ()  # of an object, or of the objects of an array
    # The error for a value outside the schema's bounds; generated from them by default.
    error: StrOrPromise | None = None
    # True: a use case checks the bounds and raises its own error, such as `url_not_allowed`.
    is_checked_later: bool = False
    is_multiline: bool = False  # a text that may contain line breaks
    # Normalises a text before it is checked: people and their clipboards add characters.
    normalise: Callable[[str], str] | None = None
    # In a response: the object's attribute, by default the field's name, or a function of the
    # object.
    source: str | Callable[[Any], Any] = ""

    def optional(self) -> "Field":
        return replace(self, required=False)

    def as_required(self) -> "Field":
        """The field where it must be given, and not as null."""
        return replace(self, schema=self.schema | {"nullable": False}, required=True)


@dataclass(frozen=True, slots=True)
class Shape:
    """Named fields: a component of the OpenAPI schema, referenced by all calls that use it."""

    name: str
    own_fields: tuple[Field, ...]
    base: "Shape | None" = None  # whose fields come first

    def body_of(self, row: Any) -> dict[str, Any]:
        return body_of(row, self)

    def __iter__(self) -> Iterator[Field]:
        if self.base is not None:
            yield from self.base
        yield from self.own_fields


Fields = tuple[Field, ...] | Shape


def body_of(row: Any, fields: Fields) -> dict[str, Any]:
    """The response for an object, from each field's `source`; an empty nullable text is null."""
    return {field.name: _field_value(row, field) for field in fields}


def _field_value(row: Any, field: Field) -> Any:
    if callable(field.source):
        return field.source(row)
    value = getattr(row, field.source or field.name)
    return None if value == "" and field.schema.get("nullable") else value


def rendered(value: Any) -> Any:
    """The value with all lazy texts, nested ones too, in the active language."""
    match value:
        case Promise():
            return str(value)
        case dict():
            return {name: rendered(item) for name, item in value.items()}
        case list():
            return [rendered(item) for item in value]
    return value


def example_of(fields: Fields) -> dict[str, Any]:
    """Examples of the fields that are always present, and of others that have one."""
    return {
        field.name: _example(field)
        for field in fields
        if field.required or field.example is not None or field.fields
    }


def _example(field: Field) -> Any:
    if field.fields and field.example is None:
        body = example_of(field.fields)
        return [body] if field.schema["type"] == "array" else body
    return rendered(field.example)


def option(
    name: str, schema: Schema, description: StrOrPromise, example: Any = None, **more: Any
) -> Field:
    """A request field that may be missing or null."""
    return Field(name, nullable(schema), description, example, required=False, **more)


def moment(name: str, description: StrOrPromise, example: str | None = None) -> Field:
    """A time in a response; null until the event has happened."""
    return Field(name, nullable(time()), description, example)


def text(**more: Any) -> Schema:
    return {"type": "string"} | more


def identifier(prefix: str) -> Schema:
    """An id of `catalogue.ids`. Clients treat it as opaque; its form helps to tell ids apart."""
    return text(pattern=f"^{prefix}_[0-9a-f]{{32}}$")


def choice(values: Iterable[str], name: str) -> Schema:
    """A choice among these values. All fields with these values share the name."""
    return {"type": "string", "enum": list(values), "title": name}


def integer(minimum: int | None = None, maximum: int | None = None) -> Schema:
    bounds = {"minimum": minimum, "maximum": maximum}
    return {"type": "integer"} | {name: n for name, n in bounds.items() if n is not None}


def boolean() -> Schema:
    return {"type": "boolean"}


def time() -> Schema:
    return {"type": "string", "format": "date-time"}


TIME_OR_DAY = r"^(\d{4}-\d{2}-\d{2}.*)?$"


def time_or_day() -> Schema:
    """Read by `api.request_fields.QueryFields.time`; an empty value counts as missing.

    A pattern: from `anyOf` with two formats, client generators make a class without a value.
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
    "limit", integer(1, 200), _("The number of items per page, 50 by default."), required=False
)
CURSOR = Field("cursor", text(), _("The `next_cursor` of the previous page."), required=False)
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
)


def page_of(rows: Shape, description: StrOrPromise) -> Fields:
    """The response of a list."""
    return Field("data", array(), description, fields=rows), HAS_MORE, NEXT_CURSOR


REQUEST_ID = Field(
    "request_id",
    text(pattern="^req_[0-9a-f]{22}$"),
    _("The id of the request, also sent as `X-Request-Id`."),
    "req_6f1d2c3b4a59687766aa00",
)


@dataclass(frozen=True, slots=True)
class Call:
    method: str
    path: str  # follows /api/v1
    name: str  # OpenAPI's operationId, and the anchor on the page of all calls
    title: StrOrPromise
    description: StrOrPromise
    scope: Scope | None  # None: any key
    response: Fields  # besides `success` and `message`
    message: StrOrPromise  # of a success; only an example if the view writes its own
    body: Fields = ()
    one_of: tuple[str, ...] = ()  # exactly one of these body fields must be given
    # None: query parameters are ignored. Otherwise all but these are refused.
    query: tuple[Field, ...] | None = None
    refusals: tuple[Error, ...] = ()  # besides those of every call
    # Values of the example response that differ from the fields' examples.
    example_values: Mapping[str, Any] = field(default_factory=dict)
    # Writes an audit event, as every PATCH and DELETE does: test keys have a quota for these.
    is_audited: bool = False
    page: str = "calls"  # the documentation page that describes it at length
    # Computed once: the field names of every request are compared with them.
    field_names: frozenset[str] = field(init=False, repr=False)
    has_nested_fields: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        fields = tuple(self.body)
        object.__setattr__(self, "is_audited", self.is_audited or self.method in CHANGING_METHODS)
        object.__setattr__(self, "field_names", frozenset(entry.name for entry in fields))
        object.__setattr__(self, "has_nested_fields", any(entry.fields for entry in fields))

    @property
    def has_body(self) -> bool:
        return self.method in METHODS_WITH_BODY

    @property
    def errors(self) -> list[Error]:
        """All errors that the call may return, in the order of `Error`."""
        possible = {*COMMON_ERRORS, *self.refusals}
        if self.has_body:
            possible |= {Error.INVALID_INPUT, Error.UNSUPPORTED_MEDIA_TYPE}
        if self.method == "POST":
            possible |= {Error.IDEMPOTENCY_MISMATCH, Error.REQUEST_IN_PROGRESS}
        if "{" in self.path:
            possible.add(Error.NOT_FOUND)
        return [error for error in Error if error in possible]

    @property
    def specific_errors(self) -> list[Error]:
        """The errors that deserve a line on the call's own page."""
        return [error for error in Error if error in self.refusals]

    @property
    def component_prefix(self) -> str:
        """The operation's id, capitalized: the prefix of its components' names."""
        return self.name[0].upper() + self.name[1:]

    def body_names(self) -> list[str]:
        """The names of all body fields; those of an array's objects are like `links[].url`."""
        return list(_field_names(self.body))

    def request_example(self) -> dict[str, Any]:
        """An example body: the fields that have an example, or whose objects have one."""
        fields = [field for field in self.body if field.example is not None or field.fields]
        return example_of(tuple(fields))

    def response_example(self) -> dict[str, Any]:
        body = {"success": True, "message": str(self.message)}
        return {**body, **example_of(self.response), **self.example_values}


def _field_names(fields: Fields, above: str = "") -> Iterator[str]:
    for entry in fields:
        yield above + entry.name
        yield from _field_names(entry.fields, f"{above}{entry.name}[].")
