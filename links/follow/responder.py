"""Responds to a visitor of a link, and counts the click; which links there are, others know."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import structlog

from config.server.rsgi_response import Response
from links.addresses import slugs
from links.clicks import buffer
from links.follow.cached_row import (
    NOT_FOUND,
    ONE_TIME_GONE,
    ExpiredTarget,
    LinkTarget,
    NoTarget,
    Resolution,
)
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

log = structlog.get_logger(__name__)

READ_METHODS, FORM_METHODS = "GET, HEAD", "GET, HEAD, POST"

Resolve = Callable[[str, int | None], Resolution]
Known = Callable[[str, int | None], Resolution | None]
CountMiss = Callable[[Mapping[str, Any]], int]
Page = Callable[[LinkTarget, Visit], VisitorResponse]


class DatabasePages(NamedTuple):
    """The pages of live links for which a cache does not do."""

    preview: Page  # any method of FORM_METHODS
    show_button: Page
    open_link: Page


class UnresolvedError(Exception):
    """Nobody can tell now where the slug leads."""


class TooManyMissesError(Exception):
    """This visitor asked for too many unknown links, and may ask again in `wait` seconds."""

    def __init__(self, wait: int) -> None:
        super().__init__(wait)
        self.wait = wait


class Responder:
    def __init__(self, resolve: Resolve, count_miss: CountMiss, pages: DatabasePages) -> None:
        self._resolve, self._count_miss, self._pages = resolve, count_miss, pages

    def respond(
        self, text: str, environ: Mapping[str, Any], host_id: int | None = None
    ) -> VisitorResponse:
        """Responds to a WSGI environ, or to Django's `request.META`, and counts the click."""
        visit = Visit(environ, host_id)
        try:
            return self._respond(text, visit)
        except TooManyMissesError as error:
            return _too_many(visit, error.wait)
        except UnresolvedError:
            return unavailable(visit)
        except Exception:  # the edge of a process: the visitor may retry after any error
            log.exception("redirect_failed")
            return unavailable(visit)

    def _respond(self, text: str, visit: Visit) -> VisitorResponse:
        about = slugs.preview_slug(text)
        slug = text if about is None else about
        outcome = self._resolve(slug, visit.host_id)
        if (
            outcome is NOT_FOUND
            and slugs.repair(slug)
            and (wait := self._count_miss(visit.environ))
        ):
            return _too_many(visit, wait)
        if about is not None and outcome is not NOT_FOUND:
            return self._respond_to_preview(outcome, visit)
        if visit.method in ("GET", "HEAD"):
            return self._respond_to_read(outcome, visit)
        return self._respond_to_write(outcome, visit)

    def _respond_to_preview(self, outcome: Resolution, visit: Visit) -> VisitorResponse:
        if visit.method not in ("GET", "HEAD", "POST"):
            return method_not_allowed(FORM_METHODS)
        if isinstance(outcome, ExpiredTarget):
            return error_page(outcome.gone(), visit)
        if isinstance(outcome, NoTarget):
            return error_page(outcome, visit)
        return self._pages.preview(outcome, visit)

    def _respond_to_read(self, outcome: Resolution, visit: Visit) -> VisitorResponse:
        if isinstance(outcome, NoTarget):
            return error_page(outcome, visit)
        if isinstance(outcome, ExpiredTarget):
            return redirect_to("302 Found", outcome.url)
        if outcome.is_once:
            return self._pages.show_button(outcome, visit)
        buffer.add(outcome.link_id, visit.environ)
        return redirect_to("302 Found", outcome.url)

    def _respond_to_write(self, outcome: Resolution, visit: Visit) -> VisitorResponse:
        """Any other method: only one-time links accept POST."""
        is_once = outcome is ONE_TIME_GONE if isinstance(outcome, NoTarget) else outcome.is_once
        if not is_once or visit.method != "POST":
            return method_not_allowed(FORM_METHODS if is_once else READ_METHODS)
        if isinstance(outcome, NoTarget):
            return error_page(outcome, visit)
        if isinstance(outcome, ExpiredTarget):
            return redirect_to("303 See Other", outcome.url)
        return self._pages.open_link(outcome, visit)


def redirect_early(
    known: Known, text: str, environ: Mapping[str, Any], host_id: int | None = None
) -> Response | None:
    """Redirects by a link that this process has cached, and counts the click: what nearly every
    visit is. Any other is `Responder`'s.
    """
    if environ["REQUEST_METHOD"] != "GET" or "+" in text or "%" in text:
        return None
    target = known(text, host_id)
    if not isinstance(target, LinkTarget) or target.is_once:
        return None
    buffer.add(target.link_id, environ)
    return 302, [("Location", target.url), *EMPTY_BODY_HEADERS], b""


def _too_many(visit: Visit, wait: int) -> VisitorResponse:
    return error_page(TOO_MANY_REQUESTS, visit, ("Retry-After", str(wait)))
