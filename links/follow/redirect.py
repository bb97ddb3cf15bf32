"""Redirects short links: as WSGI middleware in front of Django for speed, and as a view in it."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import structlog
from django.conf import settings
from django.http.request import split_domain_port, validate_host

from links.addresses import short_hosts, slugs
from links.clicks import buffer
from links.follow import not_found_limit, one_time_links, preview_page
from links.follow.cached_row import (
    NOT_FOUND,
    ONE_TIME_GONE,
    ExpiredTarget,
    LinkTarget,
    NoTarget,
    Resolution,
)
from links.follow.resolution import resolve
from links.follow.visitor_pages import (
    EMPTY_BODY_HEADERS,
    TOO_MANY_REQUESTS,
    Visit,
    VisitorResponse,
    dedicated_short_host,
    error_page,
    method_not_allowed,
    normalize_host,
    redirect_to,
    unavailable,
)

log = structlog.get_logger(__name__)

READ_METHODS, FORM_METHODS = "GET, HEAD", "GET, HEAD, POST"


def respond(text: str, environ: Mapping[str, Any], host_id: int | None = None) -> VisitorResponse:
    """Responds to a WSGI environ, or to Django's `request.META`, and counts the click."""
    try:
        if environ["REQUEST_METHOD"] == "GET" and "+" not in text and "%" not in text:
            outcome = resolve(text, host_id)
            if isinstance(outcome, LinkTarget) and not outcome.is_once:
                buffer.add(outcome.link_id, environ)
                return VisitorResponse(
                    "302 Found", [("Location", outcome.url), *EMPTY_BODY_HEADERS]
                )
        return _respond_in_full(text, Visit(environ, host_id))
    except Exception:  # the edge of a process: the visitor may retry after any error
        log.exception("redirect_failed")
        return unavailable(Visit(environ, host_id))


def _respond_in_full(text: str, visit: Visit) -> VisitorResponse:
    """Every case but a plain redirect."""
    about = slugs.preview_slug(text)
    slug = text if about is None else about
    outcome = resolve(slug, visit.host_id)
    if (
        outcome is NOT_FOUND
        and slugs.repair(slug)
        and (wait := not_found_limit.count_miss(visit.environ))
    ):
        return error_page(TOO_MANY_REQUESTS, visit, ("Retry-After", str(wait)))
    if about is not None and outcome is not NOT_FOUND:
        return preview_page.respond(outcome, visit)
    if visit.method in ("GET", "HEAD"):
        return _respond_to_read(outcome, visit)
    return _respond_to_write(outcome, visit)


def _respond_to_read(outcome: Resolution, visit: Visit) -> VisitorResponse:
    if isinstance(outcome, NoTarget):
        return error_page(outcome, visit)
    if isinstance(outcome, ExpiredTarget):
        return redirect_to("302 Found", outcome.url)
    if outcome.is_once:
        return one_time_links.show_button(outcome, visit)
    buffer.add(outcome.link_id, visit.environ)
    return redirect_to("302 Found", outcome.url)


def _respond_to_write(outcome: Resolution, visit: Visit) -> VisitorResponse:
    """Any other method: only one-time links accept POST."""
    is_once = outcome is ONE_TIME_GONE if isinstance(outcome, NoTarget) else outcome.is_once
    if not is_once or visit.method != "POST":
        return method_not_allowed(FORM_METHODS if is_once else READ_METHODS)
    if isinstance(outcome, NoTarget):
        return error_page(outcome, visit)
    if isinstance(outcome, ExpiredTarget):
        return redirect_to("303 See Other", outcome.url)
    return one_time_links.open_link(outcome, visit)


class RedirectMiddleware:
    """WSGI middleware that serves short links, and passes other requests to the application.

    On a host that serves short links alone, ours or a company's, it serves every path. On a shared
    host it serves a path of one segment that can be a slug and begins no route of the URLconf. Any
    other host goes to Django, which refuses it: a company may have added it a moment ago.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application
        self._own = urlsplit(settings.SHORT_URL).netloc
        self._host = dedicated_short_host()
        self._takes = lru_cache(maxsize=16_384)(_is_link_path)
        self._is_allowed = lru_cache(maxsize=128)(_is_allowed)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        text: str = environ.get("PATH_INFO", "")[1:]
        host = environ.get("HTTP_HOST", "")
        host_id = None if host == self._own else company_host_id(host)
        if host_id is None and not self._is_ours(host, text):
            return self._application(environ, start_response)
        status, headers, body = respond(text, environ, host_id)
        start_response(status, headers)
        return (body,)

    def _is_ours(self, host: str, text: str) -> bool:
        if self._host is None:
            is_ours = host == self._own or self._is_allowed(host)
            return is_ours and len(text) <= slugs.MAX_PATH_LENGTH and self._takes(text)
        return host == self._host or normalize_host(host) == self._host


def company_host_id(header: str) -> int | None:
    """The id of the company host that a request names, on any port; None for every other host."""
    found = short_hosts.find(header.partition(":")[0].lower().removesuffix("."))
    return found.id if found else None


def _is_link_path(text: str) -> bool:
    segment, _, rest = text.partition("/")
    slug = slugs.repair(segment)
    return not (rest or slug is None or slugs.is_reserved(segment) or slugs.is_reserved(slug))


def _is_allowed(header: str) -> bool:
    """Whether Django serves this host: that of short links, or one of ALLOWED_HOSTS."""
    if normalize_host(header) == normalize_host(urlsplit(settings.SHORT_URL).netloc):
        return True
    return validate_host(split_domain_port(header)[0], settings.ALLOWED_HOSTS)
