"""Middleware, most of which is skipped for machines' calls, and the storage of messages."""

from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import structlog
from django.contrib.messages.storage.fallback import FallbackStorage
from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve
from django.utils.cache import add_never_cache_headers
from django_structlog.middlewares import RequestMiddleware
from psycopg.errors import UniqueViolation

from parsing.integers import parse_integer

log = structlog.get_logger(__name__)


MACHINE_PATHS = ("/api/", "/compat/", "/hooks/", "/otp/", "/livez", "/readyz")
PAGE_PATHS = ("/cabinet/", "/account/")  # short links answer a wrong method without a page
GetResponse = Callable[[HttpRequest], HttpResponse]


class ChainEnd:
    """The innermost middleware: it only calls the view."""

    last_made: GetResponse

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = ChainEnd.last_made = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)


class SkipPageMiddleware:
    """The outermost middleware: sends API paths straight to the views.

    Django builds the chain from its end, so `ChainEnd` exists already. This is a shortcut in the
    chain, not a second handler for the API, so that tests and runserver use the same path.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.views = ChainEnd.last_made

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith(MACHINE_PATHS):
            return self.views(request)
        return self.get_response(request)


def route_of(request: HttpRequest) -> str:
    """The route for logs, since URLs contain phones and keys of e-mail links."""
    try:
        match = request.resolver_match or resolve(request.path_info)
    except Resolver404:
        return f"{request.method} (no such page)"
    return f"{request.method} /{match.route}"


class RequestLog(RequestMiddleware):
    format_request = staticmethod(route_of)


# Public pages. Responses of other routes may set Cache-Control themselves.
PUBLIC_ROUTES = frozenset(
    {"home", "docs", "docs-page", "docs-api", "docs-markdown", "docs-search", "llms", "status-json"}
)


class NoStore:
    """Keeps pages out of shared and back-button caches.

    It does so for all pages of signed-in users, and for others that are neither public nor set
    Cache-Control themselves.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        match = request.resolver_match
        is_public = match is not None and match.url_name in PUBLIC_ROUTES
        is_cacheable = is_public or response.has_header("Cache-Control")
        if request.user.is_authenticated or not is_cacheable:
            add_never_cache_headers(response)
        return response


MAX_FORM = 2**19  # bytes of a form without files: parsing a megabyte takes a second


class ReadableForms:
    """Responds 400 to a form that is malformed, too long, or not in UTF-8, which browsers send.

    Runs before anything else reads the form: even the error page would, and fail again.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method == "POST":
            try:
                self._read(request)
            except (BadRequest, SuspiciousOperation, MultiPartParserError):
                request._mark_post_parse_error()  # type: ignore[attr-defined]  # noqa: SLF001
                raise
        return self.get_response(request)

    def _read(self, request: HttpRequest) -> None:
        charset = (request.content_params or {}).get("charset", "utf-8")
        if charset.lower() not in {"utf-8", "utf8"}:
            raise BadRequest("not UTF-8")
        is_long = parse_integer(request.META.get("CONTENT_LENGTH") or "0", maximum=MAX_FORM) is None
        if is_long and request.content_type == "application/x-www-form-urlencoded":
            raise RequestDataTooBig
        with suppress(UnreadablePostError):  # the client is gone, or its body was not admitted
            _ = request.POST


class ErrorPages:
    """Responds with pages to errors for which Django has none.

    These are a method that is not allowed, an unavailable database, and a row that another request
    has written or deleted concurrently.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_bare = response.status_code == HTTPStatus.METHOD_NOT_ALLOWED and not response.content
        if is_bare and request.path_info.startswith(PAGE_PATHS):
            page = render(request, "405.html", status=HTTPStatus.METHOD_NOT_ALLOWED)
            page["Allow"] = response["Allow"]
            return page
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        # No page can be rendered in a failed transaction that a middleware began.
        if _is_conflict(error) and not connection.in_atomic_block:
            log.warning("page_overtaken", request=route_of(request), exc_info=error)
            return render(request, "409.html", status=HTTPStatus.CONFLICT)
        if not isinstance(error, OperationalError | InterfaceError):
            return None
        log.error("database_unavailable", request=route_of(request), exc_info=error)
        # Rendered without the request: context processors would query the database.
        page = HttpResponse(render_to_string("503.html"), status=HTTPStatus.SERVICE_UNAVAILABLE)
        page["Retry-After"] = "5"
        return page


def _is_conflict(error: Exception) -> bool:
    """Whether another request took a unique key, or deleted the row.

    Only for `save()` of a deleted row Django raises a plain DatabaseError.
    """
    return isinstance(error.__cause__, UniqueViolation) or type(error) is DatabaseError


MAX_MESSAGE_LENGTH = 1000  # characters: an error may quote input of any length
MAX_MESSAGES = 20  # unread ones: a program that posts forms may open no page


class MessageStorage(FallbackStorage):
    """Django's storage with limits: each request reads the session, and a message rewrites it."""

    def add(self, level: int, message: Any, extra_tags: str | None = "") -> None:
        is_long = len(str(message)) > MAX_MESSAGE_LENGTH
        super().add(
            level, f"{str(message)[:MAX_MESSAGE_LENGTH]}…" if is_long else message, extra_tags
        )

    def _store(self, messages: list[Any], response: Any, *args: Any, **kwargs: Any) -> list[Any]:
        unstored: list[Any] = super()._store(messages[-MAX_MESSAGES:], response, *args, **kwargs)  # type: ignore[misc]  # not in the stubs
        return unstored
