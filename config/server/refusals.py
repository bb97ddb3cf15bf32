"""Refusals in plain text, for requests that reach no view."""

from collections.abc import Mapping
from typing import Any

from config.errors import Error
from config.server.gateway import Refusal
from config.server.https import add_security_headers
from config.server.rsgi_response import Headers

RETRY_AFTER = {Error.UNAVAILABLE: 1}  # seconds
_PLAIN_TEXT = {
    Error.REQUEST_TIMEOUT: b"The request body took too long.\n",
    Error.UNAVAILABLE: b"Too many requests at once; try again.\n",
    Error.HTTPS_REQUIRED: b"Use https.\n",
}


def refuse(environ: Mapping[str, Any], error: Error) -> Refusal:
    text = ("Content-Type", "text/plain; charset=utf-8")
    return refusal(environ, error, [text], _PLAIN_TEXT[error])


def refusal(environ: Mapping[str, Any], error: Error, more: Headers, body: bytes) -> Refusal:
    """Closes the connection, on which a body may still be under way."""
    headers = [("Connection", "close"), ("Cache-Control", "no-store")]
    if retry_after := RETRY_AFTER.get(error):
        headers.append(("Retry-After", str(retry_after)))
    headers += [*more, ("Content-Length", str(len(body)))]
    return Refusal(error.status, add_security_headers(headers, environ), body)
