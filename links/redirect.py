"""The answer to who follows a short link: in front of Django for speed, and behind it as a view."""

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import structlog
from django.conf import settings
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils.translation.trans_real import parse_accept_lang_header

from links import clicks, slugs
from links.resolution import GONE, UNKNOWN, Dead, resolve

log = structlog.get_logger(__name__)

_NO_STORE = [
    ("Cache-Control", "private, no-store"),
    ("X-Robots-Tag", "noindex, nofollow"),
    ("Referrer-Policy", "no-referrer"),
]
_EMPTY = [("Content-Length", "0"), *_NO_STORE]
_WORDS = {
    (GONE, "ru"): ("Ссылка больше не действует", "Попросите отправителя прислать новую."),
    (GONE, "en"): ("This link no longer works", "Ask whoever sent it for a new one."),
    (UNKNOWN, "ru"): ("Такой ссылки нет", "Проверьте, что адрес скопирован целиком."),
    (UNKNOWN, "en"): ("There is no such link", "Check that the whole address was copied."),
}
_BUSY = "Сервис временно недоступен. The service is temporarily unavailable.\n".encode()


class Answer(NamedTuple):
    status: str
    headers: list[tuple[str, str]]
    body: bytes = b""


def answer(slug: str, environ: Mapping[str, Any]) -> Answer:
    """What a WSGI environ, or Django's `request.META`, is told; a click is counted on the way."""
    if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
        return Answer("405 Method Not Allowed", [("Allow", "GET, HEAD"), *_EMPTY])
    try:
        outcome = resolve(slug)
        if isinstance(outcome, Dead):
            return _dead(outcome, environ)
        clicks.note(outcome.link_id, environ)
    except Exception:  # the edge of a process: whatever it is, the visitor may come back
        log.exception("redirect_failed")
        text = ("Content-Type", "text/plain; charset=utf-8")
        return _page("503 Service Unavailable", _BUSY, environ, text, ("Retry-After", "2"))
    return Answer("302 Found", [("Location", outcome.url), *_EMPTY])


def _dead(outcome: Dead, environ: Mapping[str, Any]) -> Answer:
    body = _dead_page(outcome, _language(environ.get("HTTP_ACCEPT_LANGUAGE", "")))
    html = ("Content-Type", "text/html; charset=utf-8")
    return _page(outcome.value, body, environ, html, _policy())


def _page(
    status: str, body: bytes, environ: Mapping[str, Any], *headers: tuple[str, str]
) -> Answer:
    length = ("Content-Length", str(len(body)))
    is_head = environ["REQUEST_METHOD"] == "HEAD"
    return Answer(status, [*headers, length, *_NO_STORE], b"" if is_head else body)


def _language(accepted: str) -> str:
    codes = (code[:2] for code, _ in parse_accept_lang_header(accepted.lower()))
    return next((code for code in codes if code in ("ru", "en")), "ru")


@cache
def _dead_page(outcome: Dead, language: str) -> bytes:
    title, text = _WORDS[outcome, language]
    words = {
        "language": language,
        "status": outcome.value[:3],
        "title": title,
        "text": text,
    }
    page = render_to_string("links/dead.html", words | {"stylesheet": _stylesheet()})
    return page.encode()


def _stylesheet() -> str:
    # Not on the short host, where every path is a slug.
    return (
        urljoin(settings.PUBLIC_URL, static("links.css")) if _short_host() else static("links.css")
    )


@cache
def _policy() -> tuple[str, str]:
    source = settings.PUBLIC_URL if _short_host() else "'self'"
    return "Content-Security-Policy", f"default-src 'none'; style-src {source}"


def _short_host() -> str | None:
    """The host that serves short links and nothing else, if there is one."""
    short, public = (
        _plain(urlsplit(url).netloc) for url in (settings.SHORT_URL, settings.PUBLIC_URL)
    )
    return short if short != public else None


def _plain(host: str) -> str:
    return host.lower().removesuffix(":80").removesuffix(":443")


class Redirects:
    """A WSGI application that answers for short links and leaves the rest to another.

    A short host of its own is answered for whatever the path. On a shared host a path of one
    segment is taken if a link can be called so and no route of the URLconf begins with it.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application
        self._host = _short_host()
        self._takes = lru_cache(maxsize=16_384)(_takes)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        slug = self._slug(environ)
        if slug is None:
            return self._application(environ, start_response)
        status, headers, body = answer(slug, environ)
        start_response(status, headers)
        return (body,)

    def _slug(self, environ: WSGIEnvironment) -> str | None:
        slug: str = environ.get("PATH_INFO", "")[1:]
        if self._host is None:
            return slug if len(slug) <= slugs.LONGEST_PATH and self._takes(slug) else None
        host = environ.get("HTTP_HOST", "")
        return slug if host == self._host or _plain(host) == self._host else None


def _takes(text: str) -> bool:
    segment, _, rest = text.partition("/")
    slug = slugs.repair(segment)
    return not (rest or slug is None or slugs.is_reserved(segment) or slugs.is_reserved(slug))
