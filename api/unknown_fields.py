"""Unknown request fields: listed in `warnings`, refused with `Kvitok-Strict: 1`."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any, NotRequired, TypedDict

from django.http import HttpRequest
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from api.calls import Call, Field, Fields, Shape, array, text
from catalogue.errors import DomainError, Error
from catalogue.texts import StrOrPromise

MAX_WARNINGS = 50  # a body may have thousands of names, and each is compared with those declared
MAX_NAME = 64  # characters of a name that are shown
WARNING_CODE = "unknown_field"
NOT_STRICT = {"", "0", "false"}  # values of the header


class FieldWarning(TypedDict):
    code: str
    field: str
    did_you_mean: NotRequired[str]


WARNINGS = Field(
    "warnings",
    array(),
    _(
        "Request fields that the call does not know and has ignored; absent if there are none. "
        "With the header `Kvitok-Strict: 1` the request is refused."
    ),
    required=False,
    fields=Shape(
        "Warning",
        (
            Field("code", text(), _("`unknown_field`. New codes may be added."), WARNING_CODE),
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
    """Up to MAX_WARNINGS warnings, each name once. Fast if every name is declared."""
    if payload.keys() <= call.field_names and not call.has_nested_fields:
        return []
    unknown = dict.fromkeys(_unknown_names(payload, call.body))
    return [_warning(name, call) for name in islice(unknown, MAX_WARNINGS)]


def _unknown_names(payload: Mapping[str, Any], fields: Fields, path: str = "") -> Iterator[str]:
    """Names such as `chanel`, or `links[].alais` for a field of an array's objects."""
    names = {field.name for field in fields}
    yield from (path + name for name in payload if name not in names)
    for field in fields:
        items = payload.get(field.name) if field.fields else None
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict):
                yield from _unknown_names(item, field.fields, f"{path}{field.name}[].")


def _warning(name: str, call: Call) -> FieldWarning:
    warning = FieldWarning(code=WARNING_CODE, field=name[:MAX_NAME])
    suggestion = closest_name(name, call.body_names())
    return warning | {"did_you_mean": suggestion} if suggestion else warning


def check_strictness(request: HttpRequest, warnings: Iterable[FieldWarning], call: Call) -> None:
    """Raises a DomainError for unknown fields if the request has `Kvitok-Strict: 1`."""
    if request.META.get("HTTP_KVITOK_STRICT", "0").strip().lower() not in NOT_STRICT:
        raise DomainError(Error.INVALID_INPUT, errors=errors_of(warnings, call))


def errors_of(warnings: Iterable[FieldWarning], call: Call) -> dict[str, list[StrOrPromise]]:
    names = call.body_names()
    return {item["field"]: [refusal_text(item.get("did_you_mean"), names)] for item in warnings}


def closest_name(name: str, allowed: Iterable[str]) -> str | None:
    """The most similar declared name of the same object: `link_expires_in` for `linkExpiresIn`.

    Compares last parts only: a common `links[].` would make `tags` and `alias` similar.
    """
    path, last = _split(name[:MAX_NAME])
    by_bare_name = {
        _without_separators(end): key
        for key in allowed
        for parent, end in [_split(key)]
        if parent == path
    }
    matches = get_close_matches(_without_separators(last), by_bare_name, n=1)
    return by_bare_name[matches[0]] if matches else None


def _split(name: str) -> tuple[str, str]:
    """Splits `links[].url` into `links[].` and `url`."""
    path, dot, last = name.rpartition(".")
    return path + dot, last


def _without_separators(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def refusal_text(suggestion: str | None, allowed: Collection[str]) -> StrOrPromise:
    if suggestion:
        return format_lazy(_("Unknown; did you mean {name}?"), name=suggestion)
    if allowed:
        return format_lazy(_("Unknown; allowed: {names}"), names=", ".join(allowed))
    return _("Unknown; this call takes none")
