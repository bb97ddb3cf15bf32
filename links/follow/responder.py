"""Responds to a visitor of a link, and counts the click."""

from collections.abc import Mapping
from typing import Any

import structlog

from config.server.rsgi_response import Response
from links.addresses import slugs
from links.clicks import buffer
from links.follow import not_found_limit
from links.follow.cached_row import (
    NOT_FOUND,
    ONE_TIME_GONE,
    ExpiredTarget,
    LinkTarget,
    NoTarget,
    Resolution,
)
from links.follow.pages import one_time_links, preview_page
from links.follow.pages.visitor_pages import (
    EMPTY_BODY_HEADERS,
    TOO_MANY_REQUESTS,
    Visit,
    VisitorResponse,
    error_page,
    method_not_allowed,
    redirect_to,
    unavailable,
)
from links.follow.resolution import known, resolve

log = structlog.get_logger(__name__)

READ_METHODS, FORM_METHODS = "GET, HEAD", "GET, HEAD, POST"


def respond(text: str, environ: Mapping[str, Any], host_id: int | None = None) -> VisitorResponse:
    """Responds to a WSGI environ, or to Django's `request.META`, and counts the click."""
    visit = Visit(environ, host_id)
    try:
        return _respond(text, visit)
    except Exception:  # the edge of a process: the visitor may retry after any error
        log.exception("redirect_failed")
        return unavailable(visit)


def _respond(text: str, visit: Visit) -> VisitorResponse:
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
        return _respond_to_preview(outcome, visit)
    if visit.method in ("GET", "HEAD"):
        return _respond_to_read(outcome, visit)
    return _respond_to_write(outcome, visit)


def _respond_to_preview(outcome: Resolution, visit: Visit) -> VisitorResponse:
    if visit.method not in ("GET", "HEAD", "POST"):
        return method_not_allowed(FORM_METHODS)
    if isinstance(outcome, ExpiredTarget):
        return error_page(outcome.gone(), visit)
    if isinstance(outcome, NoTarget):
        return error_page(outcome, visit)
    return preview_page.respond(outcome, visit)


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


def redirect_early(text: str, environ: Mapping[str, Any], host_id: int | None) -> Response | None:
    """Redirects by a link that this process has cached, and counts the click: what nearly every
    visit is. Any other is `respond`'s.
    """
    if environ["REQUEST_METHOD"] != "GET" or "+" in text or "%" in text:
        return None
    target = known(text, host_id)
    if not isinstance(target, LinkTarget) or target.is_once:
        return None
    buffer.add(target.link_id, environ)
    return 302, [("Location", target.url), *EMPTY_BODY_HEADERS], b""
