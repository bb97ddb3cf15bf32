"""Decides by headers alone whose request bodies are received, and answers the others."""

from collections.abc import Mapping
from typing import Any

import orjson
from django.conf import settings
from django.db import connection
from django.utils import translation

from api.base_view import DATABASE_UNAVAILABLE, identify
from catalogue import ids, languages
from catalogue.errors import DomainError, Error
from processes.server.client_ip import client_ip, client_network
from processes.server.gateway import Allowance, Refusal
from processes.server.https import add_security_headers, is_refused

_RETRY_AFTER = {Error.UNAVAILABLE: 1}  # seconds
_PLAIN_TEXT = {
    Error.REQUEST_TIMEOUT: b"The request body took too long.\n",
    Error.UNAVAILABLE: b"Too many requests at once; try again.\n",
    Error.HTTPS_REQUIRED: b"Use https.\n",
}


def admit(environ: Mapping[str, Any]) -> Allowance | None:
    """None when the sender may send no body: the application refuses without reading it."""
    if is_refused(environ):
        return None
    longest = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if not environ["PATH_INFO"].startswith("/api/"):
        ip = client_ip(environ)
        return Allowance(client_network(ip) or ip, longest)
    try:
        return Allowance(f"key {identify(environ).key_id}", longest)
    except (DomainError, *DATABASE_UNAVAILABLE):
        return None
    finally:
        connection.close()  # the application may run on another thread


def refuse(environ: Mapping[str, Any], error: Error) -> Refusal:
    """The response sent instead of the application's. It closes the connection, on which a body
    may still be under way.
    """
    retry_after = _RETRY_AFTER.get(error)
    headers = [("Connection", "close"), ("Cache-Control", "no-store")]
    if retry_after:
        headers.append(("Retry-After", str(retry_after)))
    if environ["PATH_INFO"].startswith("/api/"):
        request_id = ids.request_id()
        refusal = DomainError(error, retry_after=retry_after)
        with translation.override(
            languages.of_accept_language(environ.get("HTTP_ACCEPT_LANGUAGE", ""))
        ):
            body = orjson.dumps(refusal.body(request_id=request_id))
        headers += [("Content-Type", "application/json"), ("X-Request-Id", request_id)]
    else:
        body = _PLAIN_TEXT[error]
        headers.append(("Content-Type", "text/plain; charset=utf-8"))
    headers.append(("Content-Length", str(len(body))))
    return Refusal(error.status, add_security_headers(headers, environ), body)
