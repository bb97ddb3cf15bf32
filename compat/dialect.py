"""A dialect's declaration: how its clients present their keys, and its table of errors."""

import base64
import binascii
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from django.urls.resolvers import URLPattern

from accounts.keys import api_keys
from accounts.keys.principal import Principal
from catalogue.errors import DomainError, Error

Headers = Mapping[str, Any]  # a request's headers by WSGI name: HTTP_AUTHORIZATION, …


class Response(NamedTuple):
    """A response in a dialect; without a body if `body` is None."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = {}
    content_type: str = "application/json"


Authenticate = Callable[[Headers], Principal | None]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The declaration of a dialect.

    `refuse` writes an error with its row of `errors`; its last argument is the request id. A test
    proves that every member of `Error` has a row and can be written.
    """

    name: str  # the folder's name, used in URLs and as the messages' `door`
    title: str  # the vendor's name for it
    documentation: str  # the vendor's page
    authenticate: tuple[Authenticate, ...]  # the ways to present a key, tried in turn
    errors: Mapping[Error, Any]
    refuse: Callable[[DomainError, str], Response]
    challenge: str = "Bearer"  # the WWW-Authenticate of a refusal without a key
    # Paths below the dialect's whose bodies are received before the sender is known, such as token
    # endpoints.
    open_paths: frozenset[str] = frozenset()
    # A client's settings besides address and key, by the vendor's names, made from the key's
    # company, mode and purpose.
    identifiers: Callable[[int, str, str], Mapping[str, str]] = lambda *_key: {}
    # Request headers that every response repeats.
    echoed: Callable[[Headers], Mapping[str, str]] = lambda _headers: {}

    @property
    def path(self) -> str:
        return f"/compat/{self.name}"

    def find(self, headers: Headers) -> Principal | None:
        for authenticate in self.authenticate:
            principal = authenticate(headers)
            if principal is not None:
                return principal
        return None


def credentials(headers: Headers, scheme: str) -> str:
    """The credentials after the scheme; empty for another scheme."""
    scheme_sent, _, rest = str(headers.get("HTTP_AUTHORIZATION", "")).strip().partition(" ")
    return rest.strip() if scheme_sent.lower() == scheme.lower() else ""


def by_scheme(scheme: str) -> Authenticate:
    return lambda headers: api_keys.find(credentials(headers, scheme))


by_bearer = by_scheme("Bearer")  # RFC 6750


def basic_credentials(headers: Headers) -> tuple[str, str]:
    """User and password (RFC 7617); both empty if there are none."""
    try:
        decoded = base64.b64decode(credentials(headers, "Basic"), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return "", ""
    user, _, password = decoded.partition(":")
    return user, password


def by_basic_password(headers: Headers) -> Principal | None:
    """The principal whose key is the password, with any user: clients insist on one."""
    return api_keys.find(basic_credentials(headers)[1])


@lru_cache(maxsize=4096)
def derived_id(dialect: str, *parts: object) -> str:
    """An id of 32 hexadecimal digits, made from the parts; it is not secret.

    It never changes: clients store it in their settings.
    """
    text = ":".join(map(str, (dialect, *parts)))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class Row(NamedTuple):
    """A dialect's error; our message is used if it has none."""

    status: int
    code: str | int
    message: str = ""


# The broader error for dialects that lack the exact one.
_BROADER_BY_STATUS = {
    403: Error.FORBIDDEN,
    409: Error.REQUEST_IN_PROGRESS,
    422: Error.INVALID_INPUT,
    429: Error.RATE_LIMITED,
}
# Errors for which the status would give too broad an error, or none.
_BROADER = {
    Error.CHALLENGE_REQUIRED: Error.FORBIDDEN,
    Error.UNSUPPORTED_MEDIA_TYPE: Error.INVALID_INPUT,
    Error.BINDING_MISMATCH: Error.CODE_INVALID,
    Error.CODE_EXPIRED: Error.CODE_NOT_FOUND,
    Error.CODE_USED: Error.CODE_NOT_FOUND,
    Error.CODE_NOT_FOUND: Error.NOT_FOUND,
    Error.RESEND_TOO_SOON: Error.SEND_LIMIT,
    Error.DELIVERY_FAILED: Error.UNAVAILABLE,
}
RowT = TypeVar("RowT")


def complete(rows: Mapping[Error, RowT]) -> Mapping[Error, RowT]:
    """The rows with one for every missing error: that of a broader error."""
    return {error: _error_row(rows, error) for error in Error}


def _error_row(rows: Mapping[Error, RowT], error: Error) -> RowT:
    if error in rows:
        return rows[error]
    return _error_row(rows, _BROADER.get(error) or _BROADER_BY_STATUS[error.status])


def is_last_guess(error: DomainError) -> bool:
    """Whether a code was wrong and no attempt is left."""
    return error.error is Error.CODE_INVALID and not error.extra.get("attempts_left")


def limit_of(error: DomainError) -> str:
    """The kind of the send limit that was reached; empty for other errors."""
    limit = error.extra.get("limit")
    return str(limit["kind"]) if isinstance(limit, dict) else ""


@cache
def dialects() -> dict[str, Dialect]:
    """The dialects of the folders next to this module, by name, in alphabetical order."""
    names = sorted(path.parent.name for path in Path(__file__).parent.glob("*/dialect.py"))
    return {name: import_module(f"compat.{name}.dialect").DIALECT for name in names}


def routes(dialect: Dialect) -> list[URLPattern]:
    """The dialect's paths, below `/compat/<name>/`."""
    patterns: list[URLPattern] = import_module(f"compat.{dialect.name}.views").urlpatterns
    return patterns


def dialect_of_path(path: str) -> Dialect | None:
    """The dialect of a request's path, even if the dialect has no such path."""
    _root, first, *rest = [*path.split("/", 3), "", ""]
    return dialects().get(rest[0]) if first == "compat" else None
