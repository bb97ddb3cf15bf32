"""Declares an API call: route, scope, fields, errors and texts. Its view takes all of it from here,
and so do the documentation pages and OpenAPI.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from accounts.api.fields import Field, Fields, example_of
from accounts.models import Scope
from config.errors import Error
from config.texts import StrOrPromise


@dataclass(frozen=True, slots=True)
class Call:
    method: str
    path: str  # follows /api/v1
    name: str  # OpenAPI's operationId, and the anchor on the page of all calls
    title: StrOrPromise
    description: StrOrPromise
    scope: Scope | None  # None: any key
    answer: Fields  # beside `success` and `message`
    message: StrOrPromise  # of a success; an example where the view words it itself
    body: Fields = ()
    one_of: tuple[str, ...] = ()  # of these fields of the body exactly one must be given
    # None: query parameters are ignored. Otherwise others than these are refused.
    query: tuple[Field, ...] | None = None
    refusals: tuple[Error, ...] = ()  # beside those that every call may answer
    # Of the answer, where it differs from those of its fields.
    own_example: Mapping[str, Any] = field(default_factory=dict)
    page: str = "calls"  # the documentation page that describes it at length
    # Of the body, made once: every request's own names are compared with them.
    field_names: frozenset[str] = field(init=False, repr=False)
    has_nested_fields: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        fields = tuple(self.body)
        object.__setattr__(self, "field_names", frozenset(one.name for one in fields))
        object.__setattr__(self, "has_nested_fields", any(one.fields for one in fields))

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
    def component_prefix(self) -> str:
        """The operation's id as the beginning of a component's name."""
        return self.name[0].upper() + self.name[1:]

    def body_names(self) -> list[str]:
        """Of all its fields; one of an array's objects is `links[].url`."""
        return list(_names(self.body))

    def request_example(self) -> dict[str, Any]:
        """Every field that has an example, or whose objects have one."""
        given = [field for field in self.body if field.example is not None or field.fields]
        return example_of(tuple(given))

    def answer_example(self) -> dict[str, Any]:
        body = {"success": True, "message": str(self.message)}
        return {**body, **example_of(self.answer), **self.own_example}


def _names(fields: Fields, above: str = "") -> Iterator[str]:
    for one in fields:
        yield above + one.name
        yield from _names(one.fields, f"{above}{one.name}[].")


ALWAYS = (
    Error.INVALID_API_KEY,
    Error.FORBIDDEN,
    Error.RATE_LIMITED,
    Error.INTERNAL_ERROR,
    Error.UNAVAILABLE,
)
WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
