"""Responds to visitors of short links, and counts clicks.

Runs as WSGI middleware in front of Django for speed, and as a view within Django.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port, validate_host
from django.views.decorators.csrf import csrf_exempt

from links.addresses import mistyped_slugs, reserved_names, short_hosts
from links.clicks import buffer
from links.follow import one_time_links, preview_page, responses
from links.follow.cached_row import (
    NOT_FOUND,
    ONE_TIME_GONE,
    ExpiredTarget,
    LinkTarget,
    NoTarget,
    Resolution,
)
from links.follow.resolution import cached, resolve
from links.follow.responses import TOO_MANY_REQUESTS, Visit, VisitorResponse, error_page
from parsing.text_cache import text_cache
from processes.server.rsgi_response import Response

log = structlog.get_logger(__name__)

READ_METHODS = "GET, HEAD"
FORM_METHODS = "GET, HEAD, POST"


def respond(text: str, environ: Mapping[str, Any], host_id: int | None = None) -> VisitorResponse:
    """Responds to a WSGI environ, or to Django's `request.META`, and counts the click."""
    visit = Visit(environ, host_id)
    try:
        return _respond(text, visit)
    except Exception:  # the edge of the process: the visitor may retry after any error
        log.exception("redirect_failed")
        return responses.unavailable(visit)


def _respond(text: str, visit: Visit) -> VisitorResponse:
    preview_slug = mistyped_slugs.preview_slug(text)
    slug = text if preview_slug is None else preview_slug
    outcome = resolve(slug, visit.host_id)
    # Guessing slugs ends in 429. Existing links are not counted: a carrier's customers share one
    # address.
    if (
        outcome is NOT_FOUND
        and mistyped_slugs.repair(slug)
        and (wait := responses.count_or_wait(visit, "misses", settings.LINK_MISS_LIMIT))
    ):
        return error_page(TOO_MANY_REQUESTS, visit, ("Retry-After", str(wait)))
    if preview_slug is not None and outcome is not NOT_FOUND:
        return _respond_to_preview(outcome, visit)
    if visit.method in ("GET", "HEAD"):
        return _respond_to_read(outcome, visit)
    return _respond_to_write(outcome, visit)


def _respond_to_preview(outcome: Resolution, visit: Visit) -> VisitorResponse:
    if visit.method not in ("GET", "HEAD", "POST"):
        return responses.method_not_allowed(FORM_METHODS)
    if isinstance(outcome, ExpiredTarget):
        return error_page(outcome.without_target(), visit)
    if isinstance(outcome, NoTarget):
        return error_page(outcome, visit)
    return preview_page.respond(outcome, visit)


def _respond_to_read(outcome: Resolution, visit: Visit) -> VisitorResponse:
    if isinstance(outcome, NoTarget):
        return error_page(outcome, visit)
    if isinstance(outcome, ExpiredTarget):
        return responses.redirect_to("302 Found", outcome.url)
    if outcome.is_once:
        return one_time_links.show_button(outcome, visit)
    buffer.add(outcome.link_id, visit.environ)
    return responses.redirect_to("302 Found", outcome.url)


def _respond_to_write(outcome: Resolution, visit: Visit) -> VisitorResponse:
    """Responds to other methods: only one-time links accept POST."""
    is_once = outcome is ONE_TIME_GONE if isinstance(outcome, NoTarget) else outcome.is_once
    if not is_once or visit.method != "POST":
        return responses.method_not_allowed(FORM_METHODS if is_once else READ_METHODS)
    if isinstance(outcome, NoTarget):
        return error_page(outcome, visit)
    if isinstance(outcome, ExpiredTarget):
        return responses.redirect_to("303 See Other", outcome.url)
    return one_time_links.open_link(outcome, visit)


def redirect_early(text: str, environ: Mapping[str, Any], host_id: int | None) -> Response | None:
    """Redirects by a link in this process's cache, as in nearly every visit, and counts the click.

    Returns None for all other visits, which are left to `respond`.
    """
    if environ["REQUEST_METHOD"] != "GET" or "+" in text or "%" in text:
        return None
    target = cached(text, host_id)
    if not isinstance(target, LinkTarget) or target.is_once:
        return None
    buffer.add(target.link_id, environ)
    return 302, [("Location", target.url), *responses.EMPTY_BODY_HEADERS], b""


class _ShortAddress(NamedTuple):
    text: str  # after the slash, or after several
    host_id: int | None  # of a company's host


class RedirectMiddleware:
    """Serves short links in front of a WSGI application, which gets all other requests.

    It serves every path of a host for short links only, ours or a company's. On a shared host it
    serves a path of one segment that can be a slug and begins no route of the URLconf. Other hosts
    go to Django, which refuses them: a company may have added one a moment ago.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application
        self._own = urlsplit(settings.SHORT_URL).netloc
        self._host = short_hosts.dedicated_host()
        self._takes = lru_cache(maxsize=16_384)(_is_link_path)
        self._is_allowed = text_cache(128)(_is_allowed)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        address = self._short_address(environ)
        if address is None:
            return self._application(environ, start_response)
        status, headers, body = respond(address.text, environ, address.host_id)
        start_response(status, headers)
        return (body,)

    def respond_early(self, environ: Mapping[str, Any]) -> Response | None:
        """Redirects from the cache if possible, in front of every WSGI application."""
        address = self._short_address(environ)
        if address is None:
            return None
        return redirect_early(address.text, environ, address.host_id)

    def _short_address(self, environ: Mapping[str, Any]) -> _ShortAddress | None:
        """The slug and host; None for requests to the application."""
        text: str = environ.get("PATH_INFO", "").lstrip("/")
        host = environ.get("HTTP_HOST", "")
        host_id = None if host == self._own else company_host_id(host)
        if host_id is None and not self._is_ours(host, text):
            return None
        return _ShortAddress(text, host_id)

    def _is_ours(self, host: str, text: str) -> bool:
        if self._host is None:
            is_ours = host == self._own or self._is_allowed(host)
            return is_ours and len(text) <= mistyped_slugs.MAX_PATH_LENGTH and self._takes(text)
        return host == self._host or short_hosts.normalise_host(host) == self._host


def company_host_id(header: str) -> int | None:
    """The id of the company host in the request, on any port; None for every other host."""
    host = short_hosts.find(header.partition(":")[0].lower().removesuffix("."))
    return host.id if host else None


def _is_link_path(text: str) -> bool:
    segment, _, rest = text.partition("/")
    slug = mistyped_slugs.repair(segment)
    return not (rest or slug is None or any(map(reserved_names.is_reserved, (segment, slug))))


def _is_allowed(header: str) -> bool:
    """Whether Django serves this host: the host of short links, or a host of ALLOWED_HOSTS."""
    if short_hosts.normalise_host(header) == short_hosts.normalise_host(
        urlsplit(settings.SHORT_URL).netloc
    ):
        return True
    return validate_host(split_domain_port(header)[0], settings.ALLOWED_HOSTS)


@csrf_exempt  # forms of links carry a nonce; any other POST gets 405
def follow(request: HttpRequest, slug: str) -> HttpResponse:
    """Redirects on servers without the middleware in front."""
    host_id = company_host_id(request.META.get("HTTP_HOST", ""))
    environ = request.META | {"wsgi.input": request}  # Django has read the server's
    status, headers, body = respond(slug, environ, host_id)
    response = HttpResponse(body, status=int(status[:3]), headers=dict(headers))
    if not body and "Content-Type" not in dict(headers):
        del response["Content-Type"]
    return response
