"""Middleware, and messages that a page shows once. Most of it does not run for machines' calls."""

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
    """The innermost middleware, which calls the view."""

    last_made: GetResponse

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = ChainEnd.last_made = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)


class SkipPageMiddleware:
    """The outermost middleware: sends API paths straight to the views.

    Django builds the chain from its end, so `ChainEnd` exists already. One chain with a shortcut,
    not a second handler for the API, so tests and runserver take the same path.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response, self.views = get_response, ChainEnd.last_made

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith(MACHINE_PATHS):
            return self.views(request)
        return self.get_response(request)


def route_of(request: HttpRequest) -> str:
    """The route for logs: URLs contain phones and keys from e-mails."""
    try:
        match = request.resolver_match or resolve(request.path_info)
    except Resolver404:
        return f"{request.method} (no such page)"
    return f"{request.method} /{match.route}"


class RequestLog(RequestMiddleware):
    format_request = staticmethod(route_of)


# What anybody may read. Other routes may say themselves how their answers may be kept.
PUBLIC_ROUTES = frozenset(
    {"home", "docs", "docs-page", "docs-api", "docs-markdown", "docs-search", "llms", "status-json"}
)


class NoStore:
    """Keeps pages out of shared and back-button caches: all that anybody signed in sees, and all
    that a link or a form shows to others.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        match = request.resolver_match
        is_public = match is not None and match.url_name in PUBLIC_ROUTES
        may_be_kept = is_public or response.has_header("Cache-Control")
        if request.user.is_authenticated or not may_be_kept:
            add_never_cache_headers(response)
        return response


MAX_FORM = 2**19  # bytes of a form without files: a megabyte of it takes a second to read


class ReadableForms:
    """Answers 400 to a form that cannot be read, is too long, or in another encoding than UTF-8,
    which browsers send. Before everything else that reads it: also the page of the error would,
    and fail again.
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
        is_long = parse_integer(request.META.get("CONTENT_LENGTH") or "0", most=MAX_FORM) is None
        if is_long and request.content_type == "application/x-www-form-urlencoded":
            raise RequestDataTooBig
        with suppress(UnreadablePostError):  # the sender is gone, or may send no body
            _ = request.POST


class ErrorPages:
    """Pages for errors that Django leaves bare: a method not allowed, a database that is down, a
    row that somebody else has written or removed in the same moment.
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
        # Within a transaction that a middleware began, no page can be made.
        if _is_overtaken(error) and not connection.in_atomic_block:
            log.warning("page_overtaken", request=route_of(request), exc_info=error)
            return render(request, "409.html", status=HTTPStatus.CONFLICT)
        if not isinstance(error, OperationalError | InterfaceError):
            return None
        log.error("database_unavailable", request=route_of(request), exc_info=error)
        # Rendered without the request: context processors would query the database.
        page = HttpResponse(render_to_string("503.html"), status=HTTPStatus.SERVICE_UNAVAILABLE)
        page["Retry-After"] = "5"
        return page


def _is_overtaken(error: Exception) -> bool:
    """A unique key that another request took, or `save()` of a row that it removed: only of
    that Django itself raises a bare DatabaseError.
    """
    return isinstance(error.__cause__, UniqueViolation) or type(error) is DatabaseError


MAX_MESSAGE_LENGTH = 1000  # characters: an error may quote what was typed, of whatever length
MAX_MESSAGES = 20  # that wait: a program posts forms and opens no page


class MessageStorage(FallbackStorage):
    """Django's, within bounds: each request reads the session, and a new message rewrites it."""

    def add(self, level: int, message: Any, extra_tags: str | None = "") -> None:
        is_long = len(str(message)) > MAX_MESSAGE_LENGTH
        super().add(
            level, f"{str(message)[:MAX_MESSAGE_LENGTH]}…" if is_long else message, extra_tags
        )

    def _store(self, messages: list[Any], response: Any, *args: Any, **kwargs: Any) -> list[Any]:
        unstored: list[Any] = super()._store(messages[-MAX_MESSAGES:], response, *args, **kwargs)  # type: ignore[misc]  # not in the stubs
        return unstored
