"""The response headers in the schema."""

from collections.abc import Iterable

from django.utils.translation import gettext_lazy as _

from api.calls import REQUEST_ID, Call, Schema, integer, text
from catalogue.errors import Error
from catalogue.texts import StrOrPromise

HEADERS: dict[str, tuple[StrOrPromise, Schema, str | int]] = {
    "X-Request-Id": (
        _("The request's id, also written to the logs."),
        REQUEST_ID.schema,
        REQUEST_ID.example,
    ),
    "RateLimit-Policy": (
        _(
            "The rate limit of the key: `q` requests per `w` seconds. Present in every response "
            "to a valid key."
        ),
        text(pattern=r'^"key";q=\d+;w=\d+$'),
        '"key";q=1000;w=10',
    ),
    "RateLimit": (
        _("The number of requests left (`r`) and the seconds until the limit resets (`t`)."),
        text(pattern=r'^"key";r=\d+;t=\d+$'),
        '"key";r=998;t=7',
    ),
    "Idempotent-Replayed": (
        _(
            "`true` if this is the stored response to an earlier request with the same "
            "`Idempotency-Key`."
        ),
        text(enum=["true"]),
        "true",
    ),
    "Retry-After": (
        _("The number of seconds to wait before retrying. Absent if waiting does not help."),
        integer(1),
        42,
    ),
    "WWW-Authenticate": (_("The authentication scheme: `Bearer`."), text(), "Bearer"),
}
_ALWAYS = ("X-Request-Id", "RateLimit-Policy", "RateLimit")


def of_success(call: Call) -> dict[str, Schema]:
    return _referred([*_ALWAYS, *_replayed(call)])


def of_refusals(call: Call, errors: Iterable[Error]) -> dict[str, Schema]:
    """The headers of refusals with one status; callers without a valid key get no rate limit."""
    if Error.INVALID_API_KEY in errors:
        return _referred(["X-Request-Id", "WWW-Authenticate"])
    waits = any("retry_after" in error.extra_fields for error in errors)
    is_stored = any(error.status in {409, 422, 502} for error in errors)
    return _referred(
        [*_ALWAYS, *(["Retry-After"] if waits else []), *(_replayed(call) if is_stored else [])]
    )


def _replayed(call: Call) -> list[str]:
    return ["Idempotent-Replayed"] if call.method == "POST" else []


def _referred(names: Iterable[str]) -> dict[str, Schema]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def components() -> dict[str, Schema]:
    return {
        name: {"description": str(text), "schema": schema, "example": example}
        for name, (text, schema, example) in HEADERS.items()
    }
