"""Answers edges: machines that redirect without a database, known by their tokens."""

import hmac
from collections.abc import Callable
from functools import wraps
from io import BytesIO
from typing import Any

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from links.follow import edge_calls, redirect, resolution
from links.follow.cached_row import pack

log = structlog.get_logger(__name__)

Answer = Callable[[bytes], bytes]


def _edge_view(answer: Answer) -> Callable[[HttpRequest], HttpResponse]:
    @csrf_exempt
    @wraps(answer)
    def view(request: HttpRequest) -> HttpResponse:
        if not _is_edge(request.headers.get("Authorization", "")):
            return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
        try:
            body = answer(request.body)
        except (ValueError, LookupError, TypeError, AttributeError):
            return HttpResponse(status=400)
        except Exception:  # the edge asks again, or says that the service is unavailable
            log.exception("edge_not_answered")
            return HttpResponse(status=503)
        return HttpResponse(body, content_type="application/json")

    return view


def _is_edge(authorization: str) -> bool:
    scheme, _, token = authorization.partition(" ")
    edge, _, secret = token.partition(":")
    expected = settings.EDGE_TOKENS.get(edge)
    is_known = expected is not None and hmac.compare_digest(expected, secret.encode())
    return scheme == "Bearer" and is_known


@_edge_view
def ping(_body: bytes) -> bytes:
    return b"{}"


@_edge_view
def resolve(body: bytes) -> bytes:
    """The row in force: as it is cached, and dead if it is stopped."""
    return pack(resolution.current_row(*edge_calls.read_question(body)))


@_edge_view
def visit(body: bytes) -> bytes:
    given = edge_calls.read_visit(body)
    form = given.form.encode("latin-1")
    environ: dict[str, Any] = {
        **given.environ,
        "CONTENT_LENGTH": str(len(form)),
        "wsgi.input": BytesIO(form),
    }
    return edge_calls.pack_response(redirect.respond(given.text, environ, given.host_id))
