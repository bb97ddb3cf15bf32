"""What a visitor is told besides where a link leads: small pages, all of them without a store."""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from django.conf import settings
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils.translation.trans_real import parse_accept_lang_header

from links.follow.cached_row import GONE, ONCE_GONE, UNKNOWN, Dead

NO_STORE = [
    ("Cache-Control", "private, no-store"),
    ("X-Robots-Tag", "noindex, nofollow"),
    ("Referrer-Policy", "no-referrer"),
]
EMPTY = [("Content-Length", "0"), *NO_STORE]
TOO_MANY = "too_many"
FRAMELESS = "; base-uri 'none'; frame-ancestors 'none'"

_STATUSES: dict[Dead | str, str] = {
    GONE: "410 Gone",
    ONCE_GONE: "410 Gone",
    UNKNOWN: "404 Not Found",
    TOO_MANY: "429 Too Many Requests",
}
_WORDS: dict[tuple[Dead | str, str], tuple[str, str]] = {
    (GONE, "ru"): ("Ссылка больше не действует", "Попросите отправителя прислать новую."),
    (GONE, "en"): ("This link no longer works", "Ask whoever sent it for a new one."),
    (ONCE_GONE, "ru"): (
        "Ссылка больше не открывается",
        "Она открывается один раз: её уже открыли, или её срок вышел.",
    ),
    (ONCE_GONE, "en"): (
        "This link opens no more",
        "It opens once, and somebody has opened it, or it has expired.",
    ),
    (UNKNOWN, "ru"): ("Такой ссылки нет", "Проверьте, что адрес скопирован целиком."),
    (UNKNOWN, "en"): ("There is no such link", "Check that the whole address was copied."),
    (TOO_MANY, "ru"): ("Слишком много попыток", "Попробуйте ещё раз через несколько минут."),
    (TOO_MANY, "en"): ("Too many tries", "Try again in a few minutes."),
}
_BUSY = "Сервис временно недоступен. The service is temporarily unavailable.\n".encode()


class Answer(NamedTuple):
    status: str
    headers: list[tuple[str, str]]
    body: bytes = b""


class Visit(NamedTuple):
    """Who asks, and under which host: our own unless there is an id."""

    environ: Mapping[str, Any]
    host_id: int | None

    @property
    def method(self) -> str:
        return str(self.environ["REQUEST_METHOD"])

    @property
    def language(self) -> str:
        return _language(self.environ.get("HTTP_ACCEPT_LANGUAGE", ""))

    @property
    def is_apart(self) -> bool:
        """Every path is a slug there, so that the stylesheet is elsewhere."""
        return self.host_id is not None or short_host() is not None


def lead(status: str, url: str) -> Answer:
    return Answer(status, [("Location", url), *EMPTY])


def not_allowed(allowed: str) -> Answer:
    return Answer("405 Method Not Allowed", [("Allow", allowed), *EMPTY])


def dead(outcome: Dead | str, visit: Visit, *headers: tuple[str, str]) -> Answer:
    """A page that is the same for everybody."""
    body = _dead_page(outcome, visit.language, visit.is_apart)
    return _page(_STATUSES[outcome], body, visit, _HTML, _policy(visit.is_apart, ""), *headers)


def page(status: str, template: str, context: dict[str, Any], visit: Visit, policy: str) -> Answer:
    known = {"language": visit.language, "stylesheet": _stylesheet(visit.is_apart)}
    body = render_to_string(template, known | context).encode()
    return _page(status, body, visit, _HTML, _policy(visit.is_apart, policy))


def busy(visit: Visit) -> Answer:
    text = ("Content-Type", "text/plain; charset=utf-8")
    return _page("503 Service Unavailable", _BUSY, visit, text, ("Retry-After", "2"))


_HTML = ("Content-Type", "text/html; charset=utf-8")


def _page(status: str, body: bytes, visit: Visit, *headers: tuple[str, str]) -> Answer:
    length = ("Content-Length", str(len(body)))
    return Answer(status, [*headers, length, *NO_STORE], b"" if visit.method == "HEAD" else body)


def _language(accepted: str) -> str:
    codes = (code[:2] for code, _ in parse_accept_lang_header(accepted.lower()))
    return next((code for code in codes if code in ("ru", "en")), "ru")


@cache
def _dead_page(outcome: Dead | str, language: str, is_apart: bool) -> bytes:
    """In the visitor's language first, and below in the other: an SMS knows no language."""
    other = "en" if language == "ru" else "ru"
    words = {
        "language": language,
        "other": other,
        "status": _STATUSES[outcome][:3],
        "words": _WORDS[outcome, language],
        "other_words": _WORDS[outcome, other],
        "stylesheet": _stylesheet(is_apart),
    }
    return render_to_string("links/dead.html", words).encode()


def _stylesheet(is_apart: bool) -> str:
    path = static("links.css")
    return urljoin(settings.PUBLIC_URL, path) if is_apart else path


@cache
def _policy(is_apart: bool, more: str) -> tuple[str, str]:
    source = settings.PUBLIC_URL if is_apart else "'self'"
    return "Content-Security-Policy", f"default-src 'none'; style-src {source}{more}"


def short_host() -> str | None:
    """The host that serves short links and nothing else, if there is one."""
    short, public = (
        plain(urlsplit(url).netloc) for url in (settings.SHORT_URL, settings.PUBLIC_URL)
    )
    return short if short != public else None


def plain(host: str) -> str:
    return host.lower().removesuffix(":80").removesuffix(":443").removesuffix(".")
