"""Decides by the headers which request bodies are received, and refuses the others."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson
from django.conf import settings
from django.db import connection
from django.utils import translation

from api.authentication import identify
from api.base_view import DATABASE_UNAVAILABLE
from catalogue import ids
from catalogue.errors import DomainError, Error
from catalogue.languages import page_languages
from catalogue.texts import StrOrPromise
from processes.server.client_ip import client_ip, client_network
from processes.server.gateway import Allowance, Refusal
from processes.server.https import add_security_headers, is_refused

_RETRY_AFTER = {Error.UNAVAILABLE: 1}  # seconds
_PLAIN_TEXT = {
    Error.REQUEST_TIMEOUT: b"The request body took too long.\n",
    Error.UNAVAILABLE: b"Too many requests at once; try again.\n",
    Error.HTTPS_REQUIRED: b"Use https.\n",
}


class EntryPoint(NamedTuple):
    """The admission of request bodies under one path prefix.

    `sender` returns the name under which the body is counted, or raises a DomainError; `refuse`
    turns a DomainError into status, headers and body.
    """

    sender: Callable[[Mapping[str, Any]], str]
    refuse: Callable[[Mapping[str, Any], DomainError, str], Refusal]


def _key(environ: Mapping[str, Any]) -> str:
    return f"key {identify(environ).key_id}"


def _envelope(_environ: Mapping[str, Any], refusal: DomainError, request_id: str) -> Refusal:
    body = orjson.dumps(refusal.body(request_id=request_id))
    return Refusal(refusal.error.status, [("Content-Type", "application/json")], body)


_entry_points = {"/api/": EntryPoint(_key, _envelope)}
source_apis: dict[str, StrOrPromise] = {}  # titles of the APIs, besides our own, that accept sends


def register_entry_point(
    prefix: str, entry_point: EntryPoint, titles: Mapping[str, StrOrPromise]
) -> None:
    """Registers an entry point at start; `titles` are those of the APIs under the prefix."""
    _entry_points[prefix] = entry_point
    source_apis.update(titles)


def _entry_point(environ: Mapping[str, Any]) -> EntryPoint | None:
    path = environ["PATH_INFO"]
    return next(
        (entry_point for prefix, entry_point in _entry_points.items() if path.startswith(prefix)),
        None,
    )


def admit(environ: Mapping[str, Any]) -> Allowance | None:
    """The allowance that a request's body counts against; None if the request is refused with its
    body unread.
    """
    if is_refused(environ):
        return None
    max_bytes = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    entry_point = _entry_point(environ)
    try:
        return Allowance(
            entry_point.sender(environ) if entry_point else network(environ), max_bytes
        )
    except (DomainError, *DATABASE_UNAVAILABLE):
        return None
    finally:
        connection.close()  # the application may run on another thread


def network(environ: Mapping[str, Any]) -> str:
    """The client's network, against which a body without a key counts."""
    ip = client_ip(environ)
    return client_network(ip) or ip


def refuse(environ: Mapping[str, Any], error: Error) -> Refusal:
    """The response sent instead of the application's. It closes the connection, on which a body may
    still be arriving.
    """
    retry_after = _RETRY_AFTER.get(error)
    headers = [("Connection", "close"), ("Cache-Control", "no-store")]
    if retry_after:
        headers.append(("Retry-After", str(retry_after)))
    if entry_point := _entry_point(environ):
        request_id = ids.request_id()
        refusal = DomainError(error, retry_after=retry_after)
        with translation.override(
            page_languages.preferred(environ.get("HTTP_ACCEPT_LANGUAGE", ""))
        ):
            status, refusal_headers, body = entry_point.refuse(environ, refusal, request_id)
        headers += [*refusal_headers, ("X-Request-Id", request_id)]
    else:
        status = error.status
        body = _PLAIN_TEXT[error]
        headers.append(("Content-Type", "text/plain; charset=utf-8"))
    headers.append(("Content-Length", str(len(body))))
    return Refusal(status, add_security_headers(headers, environ), body)
