"""Decides by headers alone whose request bodies are received, and answers the others."""

from collections.abc import Mapping
from typing import Any

import orjson
from django.conf import settings
from django.db import connection
from django.utils import translation

from accounts.api.base_view import DATABASE_UNAVAILABLE, identify, language_of
from accounts.client_ip import client_ip, client_network
from config import ids
from config.errors import DomainError, Error
from config.server import refusals
from config.server.gateway import Allowance, Refusal
from config.server.https import is_refused


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
    """The response sent instead of the application's."""
    if not environ["PATH_INFO"].startswith("/api/"):
        return refusals.refuse(environ, error)
    request_id = ids.request_id()
    described = DomainError(error, retry_after=refusals.RETRY_AFTER.get(error))
    with translation.override(language_of(environ.get("HTTP_ACCEPT_LANGUAGE", ""))):
        body = orjson.dumps(described.body(request_id=request_id))
    headers = [("Content-Type", "application/json"), ("X-Request-Id", request_id)]
    return refusals.refusal(environ, error, headers, body)
