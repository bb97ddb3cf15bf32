"""The answer to who follows a short link: in front of Django for speed, and behind it as a view."""

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
from links.follow.cached_row import ONCE_GONE, UNKNOWN, Dead, Expired, Found, Outcome
from links.follow.resolution import resolve
from links.follow.visitor_pages import (
    EMPTY,
    TOO_MANY,
    Answer,
    Visit,
    busy,
    dead,
    lead,
    not_allowed,
    plain,
    short_host,
)

log = structlog.get_logger(__name__)

READS, WITH_FORM = "GET, HEAD", "GET, HEAD, POST"


def answer(text: str, environ: Mapping[str, Any], host_id: int | None = None) -> Answer:
    """What a WSGI environ, or Django's `request.META`, is told; a click is counted on the way."""
    try:
        if environ["REQUEST_METHOD"] == "GET" and "+" not in text and "%" not in text:
            outcome = resolve(text, host_id)
            if isinstance(outcome, Found) and not outcome.is_once:
                buffer.note(outcome.link_id, environ)
                return Answer("302 Found", [("Location", outcome.url), *EMPTY])
        return _answer(text, Visit(environ, host_id))
    except Exception:  # the edge of a process: whatever it is, the visitor may come back
        log.exception("redirect_failed")
        return busy(Visit(environ, host_id))


def _answer(text: str, visit: Visit) -> Answer:
    """Whatever is not the plain case."""
    about = slugs.asked_about(text)
    slug = text if about is None else about
    outcome = resolve(slug, visit.host_id)
    if outcome is UNKNOWN and slugs.repair(slug) and (wait := not_found_limit.note(visit.environ)):
        return dead(TOO_MANY, visit, ("Retry-After", str(wait)))
    if about is not None and outcome is not UNKNOWN:
        return preview_page.answer(outcome, visit)
    if visit.method in ("GET", "HEAD"):
        return _follow(outcome, visit)
    return _open(outcome, visit)


def _follow(outcome: Outcome, visit: Visit) -> Answer:
    if isinstance(outcome, Dead):
        return dead(outcome, visit)
    if isinstance(outcome, Expired):
        return lead("302 Found", outcome.url)
    if outcome.is_once:
        return one_time_links.show(outcome, visit)
    buffer.note(outcome.link_id, visit.environ)
    return lead("302 Found", outcome.url)


def _open(outcome: Outcome, visit: Visit) -> Answer:
    """Any other method: links that open once know POST."""
    is_once = outcome is ONCE_GONE if isinstance(outcome, Dead) else outcome.is_once
    if not is_once or visit.method != "POST":
        return not_allowed(WITH_FORM if is_once else READS)
    if isinstance(outcome, Dead):
        return dead(outcome, visit)
    if isinstance(outcome, Expired):
        return lead("303 See Other", outcome.url)
    return one_time_links.open_link(outcome, visit)


class Redirects:
    """A WSGI application that answers for short links and leaves the rest to another.

    Hosts that are there for short links alone, our own or companies', are answered for whatever
    the path. On a host that is shared a path of one segment is taken if a link can be called so and
    no route of the URLconf begins with it. Any other host is Django's to refuse: it may be a
    company's that this process has not heard of yet.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application
        self._own = urlsplit(settings.SHORT_URL).netloc
        self._host = short_host()
        self._takes = lru_cache(maxsize=16_384)(_takes)
        self._is_allowed = lru_cache(maxsize=128)(_is_allowed)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        text: str = environ.get("PATH_INFO", "")[1:]
        host = environ.get("HTTP_HOST", "")
        host_id = None if host == self._own else company_host(host)
        if host_id is None and not self._is_ours(host, text):
            return self._application(environ, start_response)
        status, headers, body = answer(text, environ, host_id)
        start_response(status, headers)
        return (body,)

    def _is_ours(self, host: str, text: str) -> bool:
        if self._host is None:
            is_ours = host == self._own or self._is_allowed(host)
            return is_ours and len(text) <= slugs.LONGEST_PATH and self._takes(text)
        return host == self._host or plain(host) == self._host


def company_host(header: str) -> int | None:
    """Whose host it is that a request names, with whatever port; None: nobody's but ours."""
    found = short_hosts.find(header.partition(":")[0].lower().removesuffix("."))
    return found.id if found else None


def _takes(text: str) -> bool:
    segment, _, rest = text.partition("/")
    slug = slugs.repair(segment)
    return not (rest or slug is None or slugs.is_reserved(segment) or slugs.is_reserved(slug))


def _is_allowed(header: str) -> bool:
    """Whether Django would answer on this host: the service's own, or one that it goes by."""
    if plain(header) == plain(urlsplit(settings.SHORT_URL).netloc):
        return True
    return validate_host(split_domain_port(header)[0], settings.ALLOWED_HOSTS)
