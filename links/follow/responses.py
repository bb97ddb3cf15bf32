"""Responses to visitors of short links: redirects, and small pages that need no database.

Live 302, unknown 404, expired, opened or disabled 410.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urljoin

from django.conf import settings
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils import translation
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from catalogue.languages import page_languages
from catalogue.texts import StrOrPromise
from links.addresses import short_hosts
from links.follow.cached_row import GONE, NOT_FOUND, ONE_TIME_GONE, NoTarget
from processes.server.client_ip import client_ip, client_network
from storage import atomic_limits
from storage.atomic_limits import Window

COMMON_HEADERS = [
    ("Cache-Control", "private, no-store"),
    ("X-Robots-Tag", "noindex, nofollow"),
    ("Referrer-Policy", "no-referrer"),
]
EMPTY_BODY_HEADERS = [("Content-Length", "0"), *COMMON_HEADERS]
TOO_MANY_REQUESTS = "too_many"
NO_FRAMING = "; base-uri 'none'; frame-ancestors 'none'"

_STATUSES: dict[NoTarget | str, str] = {
    GONE: "410 Gone",
    ONE_TIME_GONE: "410 Gone",
    NOT_FOUND: "404 Not Found",
    TOO_MANY_REQUESTS: "429 Too Many Requests",
}
_HTML = ("Content-Type", "text/html; charset=utf-8")


class PageTexts(NamedTuple):
    title: StrOrPromise
    text: StrOrPromise  # what to do
    button: StrOrPromise = ""


_TEXTS: dict[NoTarget | str, PageTexts] = {
    GONE: PageTexts(
        pgettext_lazy("short link", "This link no longer works"),
        _("Ask the sender for a new link."),
    ),
    ONE_TIME_GONE: PageTexts(
        _("This link can no longer be opened"),
        _("It opens once, and somebody has opened it, or it has expired."),
    ),
    NOT_FOUND: PageTexts(_("There is no such link"), _("Check that the whole address was copied.")),
    TOO_MANY_REQUESTS: PageTexts(_("Too many attempts"), _("Try again in a few minutes.")),
}
_UNAVAILABLE = "Сервис временно недоступен. The service is temporarily unavailable.\n".encode()


class VisitorResponse(NamedTuple):
    status: str
    headers: list[tuple[str, str]]
    body: bytes = b""


class Visit(NamedTuple):
    """A visitor's request, and the id of the company host it was sent to; None for our host."""

    environ: Mapping[str, Any]
    host_id: int | None

    @property
    def method(self) -> str:
        return str(self.environ["REQUEST_METHOD"])

    @property
    def language(self) -> str:
        return page_languages.preferred(self.environ.get("HTTP_ACCEPT_LANGUAGE", ""))

    @property
    def is_short_host(self) -> bool:
        """Whether every path of the host is a slug; the stylesheet then comes from another host."""
        return self.host_id is not None or short_hosts.dedicated_host() is not None


def texts_in(language: str, texts: PageTexts) -> PageTexts:
    with translation.override(language):
        return PageTexts(*map(str, texts))


def redirect_to(status: str, url: str) -> VisitorResponse:
    return VisitorResponse(status, [("Location", url), *EMPTY_BODY_HEADERS])


def method_not_allowed(allowed: str) -> VisitorResponse:
    return VisitorResponse("405 Method Not Allowed", [("Allow", allowed), *EMPTY_BODY_HEADERS])


def error_page(outcome: NoTarget | str, visit: Visit, *headers: tuple[str, str]) -> VisitorResponse:
    """A page that contains nothing of the link."""
    body = _error_page_html(outcome, visit.language, visit.is_short_host)
    return _page(
        _STATUSES[outcome],
        body,
        visit,
        _HTML,
        _content_security_policy(visit.is_short_host, ""),
        *headers,
    )


def html_page(
    status: str,
    template: str,
    context: dict[str, Any],
    visit: Visit,
    policy: str,
    *,
    script: str = "",
) -> VisitorResponse:
    """Renders a template.

    `policy` is added to every page's Content-Security-Policy; `script` is a static file.
    """
    shared = {
        "language": visit.language,
        "stylesheet": _static("links.css", visit.is_short_host),
        "script": script and _static(script, visit.is_short_host),
    }
    if script:
        policy = f"; script-src {_own_source(visit.is_short_host)}{policy}"
    body = render_to_string(template, shared | context).encode()
    return _page(status, body, visit, _HTML, _content_security_policy(visit.is_short_host, policy))


def unavailable(visit: Visit) -> VisitorResponse:
    text = ("Content-Type", "text/plain; charset=utf-8")
    return _page("503 Service Unavailable", _UNAVAILABLE, visit, text, ("Retry-After", "2"))


def _page(status: str, body: bytes, visit: Visit, *headers: tuple[str, str]) -> VisitorResponse:
    length = ("Content-Length", str(len(body)))
    return VisitorResponse(
        status, [*headers, length, *COMMON_HEADERS], b"" if visit.method == "HEAD" else body
    )


@cache
def _error_page_html(outcome: NoTarget | str, language: str, is_short_host: bool) -> bytes:
    """The page in the visitor's language, then in the other one: the message may be in either."""
    other = page_languages.second_language(language)
    context = {
        "language": language,
        "other": other,
        "texts": texts_in(language, _TEXTS[outcome]),
        "other_texts": texts_in(other, _TEXTS[outcome]),
        "stylesheet": _static("links.css", is_short_host),
    }
    return render_to_string("links/dead.html", context).encode()


def _static(name: str, is_short_host: bool) -> str:
    path = static(name)
    return urljoin(settings.PUBLIC_URL, path) if is_short_host else path


@cache
def _content_security_policy(is_short_host: bool, more_directives: str) -> tuple[str, str]:
    source = _own_source(is_short_host)
    return "Content-Security-Policy", f"default-src 'none'; style-src {source}{more_directives}"


def _own_source(is_short_host: bool) -> str:
    return settings.PUBLIC_URL if is_short_host else "'self'"


def count_or_wait(visit: Visit, action: str, limit: tuple[int, int]) -> int:
    """Counts a visitor's action; returns 0, or the seconds to wait for a visitor beyond `limit`.

    `limit` is a count, and the seconds in which it may be reached. There is no limit without an
    address, or while Redis is down.
    """
    visitor = client_network(client_ip(visit.environ))
    key = f"{action}:{atomic_limits.hashed(visitor)}"
    return atomic_limits.count_or_wait(Window(key, *limit)) if visitor else 0
