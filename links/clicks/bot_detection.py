"""Which User-Agents have the structure of a person's browser, and which header that browser adds.

A click proves a delivery, which costs tokens, so the rule is which clients may prove one; no list
of the others is ever complete. Recognised are Chromium, Gecko and WebKit by Apple in versions that
exist, and with them nearly every browser and view inside an app: Yandex, Samsung, Huawei, UC, Opera
and Edge; WhatsApp, Telegram, VK and Instagram. Their navigations over HTTPS carry `Sec-Fetch-Mode`:
https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Sec-Fetch-Mode (28 November 2026).
Engines too old for that header prove without it only on phones, which their makers stop updating;
on a desk they are programs, but browsers of an iPad, which send it and name a Safari of years ago.
On a phone an app adds its own name to that of its engine, whatever it is; on a desk machines do, so
there only known browsers may. Opera Mini fetches through its own servers, which name the phone in
a header.

Not recognised: Internet Explorer, whose name Office and many programs bear; Android's browser from
before Chromium (Android 4.3); UC's and Opera's other proxies; everything else.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.utils import timezone

from links.clicks.visit_details import cached
from storage.statements.named_rows import fetch_all

MAX_LENGTH = 1000  # of a User-Agent; an app's own words make it the longer, never by as much
FETCH_MODE = "HTTP_SEC_FETCH_MODE"
ACCEPT = "HTTP_ACCEPT"

_Version = tuple[int, int]


class _Engine(NamedTuple):
    pattern: re.Pattern[str]  # group 1 is the platform, 2 and 3 the version
    oldest: _Version
    newest: Callable[[int], int]  # by the year
    fetch_mode_since: _Version


def _fortnightly(year: int) -> int:
    """Chromium's pace since version 153 of September 2026; no engine is quicker."""
    return 26 * (year - 2019)


def _yearly(year: int) -> int:
    """Apple names its versions after the year that follows."""
    return year - 1998


# Names of browsers and apps may come before and behind, comments only behind an app's name.
_BLINK = r"AppleWebKit/537\.36 \(KHTML, like Gecko\) (?:[^ ()]+ ){0,4}?"
_WEBKIT = r"AppleWebKit/6\d\d\.[\d.]+ \(KHTML, like Gecko\) "
_ENGINES = (
    _Engine(
        re.compile(
            rf"Mozilla/5\.0 \((.{{1,300}}?)\) {_BLINK}"
            r"Chrome/(\d+)\.(\d+)[\d.]* [^()]*Safari/537"
        ),
        (30, 0),
        _fortnightly,
        (76, 0),
    ),
    _Engine(
        re.compile(r"Mozilla/5\.0 \(([^()]+); rv:[\d.]+\) Gecko/[\d.]+ Firefox/(\d+)\.(\d+)"),
        (52, 0),
        _fortnightly,
        (90, 0),
    ),
    _Engine(
        re.compile(
            r"Mozilla/5\.0 \(((?:iPhone|iPad|iPod)[^()]*; CPU (?:iPhone )?OS )(\d+)_(\d+)[^()]*\) "
            rf"{_WEBKIT}[^()]*Mobile/\w"
        ),
        (9, 0),
        _yearly,
        (16, 4),
    ),
    _Engine(
        re.compile(
            rf"Mozilla/5\.0 \((Macintosh; Intel Mac OS X [\d_.]+)\) {_WEBKIT}"
            r"(?:[^ ()]+ )?Version/(\d+)\.(\d+)[\d.]* (?:[^ ()]+ )?Safari/6"
        ),
        (9, 0),
        _yearly,
        (16, 4),
    ),
)
_PHONE = re.compile(r"Android|iPhone|iPad|iPod|OpenHarmony")
# User-Agents of engines and browsers of desktops, and of phones that pretend to be one.
_DESKTOP_NAMES = re.compile(
    "AppleWebKit|Atom|Avast|AVG|Brave|CCleaner|Chrome|Chromium|coc_coc_browser|CriOS|Ddg|DuckDuckGo"
    "|Edg|Edge|EdgiOS|Firefox|Focus|FxiOS|Gecko|GSA|Iron|Maxthon|Mobile|Mozilla|Norton|Opera|OPiOS"
    r"|OPR|OPT|Puffin|QQBrowser|Safari|SamsungBrowser|Seznam\.cz|SLBrowser|Sputnik|UBrowser|Ubuntu"
    "|UCBrowser|Version|Vivaldi|Waterfox|Whale|YaBrowser|Yowser|Yptp"
)
_COMMENT = re.compile(r"\((?:[^()]|\([^()]*\))*\)")
_OPERA_MINI = re.compile(r"Opera/9\.80 \([^()]*Opera Mini/")


def own_header(user_agent: str) -> str | None:
    """A key of the environ that this browser's navigations have; None if it is no browser."""
    if len(user_agent) > MAX_LENGTH:  # some patterns take the square of it
        return None
    if _OPERA_MINI.match(user_agent):
        return "HTTP_X_OPERAMINI_PHONE_UA"
    for engine in _ENGINES:
        if match := engine.pattern.match(user_agent):
            if not _PHONE.search(match[1]) and not _is_desktop(user_agent):
                return None
            return _own_header(engine, match[1], (int(match[2][:4]), int(match[3][:4])))
    return None


def _is_desktop(user_agent: str) -> bool:
    """Whether it names only known browsers, and has no comment but its platform and layout."""
    names = [part.partition("/")[0] for part in _COMMENT.sub("", user_agent).split()]
    return user_agent.count("(") <= 2 and all(map(_DESKTOP_NAMES.fullmatch, names))


def _own_header(engine: _Engine, platform: str, version: _Version) -> str | None:
    if not engine.oldest <= version or version[0] > engine.newest(timezone.now().year):
        return None
    if not settings.SHORT_URL.startswith("https:"):  # without TLS nobody sends Sec-Fetch-Mode
        return ACCEPT
    is_old_phone = version < engine.fetch_mode_since and _PHONE.search(platform)
    return ACCEPT if is_old_phone else FETCH_MODE


class VisitorKind(StrEnum):
    PERSON = "person"  # a known browser, or the one inside an app, that opens a page
    PREVIEW = "preview"  # a messenger that shows what a link leads to
    PREFETCH = "prefetch"  # a browser, in case its user follows the link
    PROBE = "probe"  # a HEAD request
    SCANNER = "scanner"  # crawlers, security scanners, scripts, and every unknown client


def _tokens(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# All in lower case, matched anywhere in the User-Agent; previews go first.
_PREVIEWS = _tokens(
    "preview facebookexternalhit facebot meta-externalfetcher telegrambot twitterbot "
    "slackbot slack-imgproxy discordbot linkedinbot viberbot vkshare odklbot pinterestbot "
    "redditbot google-pagerenderer google-inspectiontool embedly iframely mastodon/ microlink "
    "unfurl line-poker kakaotalk-scrap"
)
# What machines add to the User-Agent of a whole browser. All others have no browser's structure.
_SCANNERS = _tokens(
    "bot crawl spider compatible; http: https: lighthouse electron/ monitor uptime pingdom "
    "validator facebookplatform google-safety google-read-aloud googleother proofpoint mimecast "
    "barracuda urldefense safelinks"
)
_MESSENGERS = ("whatsapp/",)  # as a prefix; further on it is a browser inside the app
_PHONES_NAMED_BOT = "cubot"  # a maker of phones, whose browsers name it
_PREFETCH_HEADERS = ("HTTP_SEC_PURPOSE", "HTTP_PURPOSE", "HTTP_X_MOZ", "HTTP_X_PURPOSE")


class _Agent(NamedTuple):
    """The software that a User-Agent names."""

    kind: VisitorKind
    own_header: str = ""  # the header that a person's browser adds


_agents: dict[str, _Agent] = {}


def kind_of(environ: Mapping[str, Any]) -> VisitorKind:
    """The visitor's kind, by a WSGI environ or Django's `request.META`."""
    if environ["REQUEST_METHOD"] == "HEAD":
        return VisitorKind.PROBE
    if _is_prefetch(environ):
        return VisitorKind.PREFETCH
    agent = cached(_agents, environ.get("HTTP_USER_AGENT", ""), _agent_of)
    if agent.own_header and not _is_navigation(environ, agent.own_header):
        return VisitorKind.SCANNER
    return agent.kind


def _is_prefetch(environ: Mapping[str, Any]) -> bool:
    return (
        "HTTP_SEC_PURPOSE" in environ
        or "HTTP_PURPOSE" in environ
        or "HTTP_X_MOZ" in environ
        or "HTTP_X_PURPOSE" in environ
    ) and any(
        "pre" in environ.get(header, "").lower()  # prefetch, prerender, preview
        for header in _PREFETCH_HEADERS
    )


def _is_navigation(environ: Mapping[str, Any], own_header: str) -> bool:
    """Whether these are the headers of a page that a browser opens, not of an image or a script."""
    return (
        own_header in environ
        and "text/html" in environ.get("HTTP_ACCEPT", "")
        and "HTTP_ACCEPT_LANGUAGE" in environ
        and environ.get("HTTP_SEC_FETCH_DEST", "document") == "document"
        and environ.get("HTTP_SEC_FETCH_MODE", "navigate") == "navigate"
        and "HTTP_RANGE" not in environ  # of a preview, which wants the page's beginning
        and "Headless" not in environ.get("HTTP_SEC_CH_UA", "")
    )


def _agent_of(user_agent: str) -> _Agent:
    agent = user_agent.lower().replace(_PHONES_NAMED_BOT, "")
    if agent.startswith(_MESSENGERS) or any(token in agent for token in _PREVIEWS):
        return _Agent(VisitorKind.PREVIEW)
    header = own_header(user_agent)
    if header is None or any(token in agent for token in _SCANNERS):
        return _Agent(VisitorKind.SCANNER)
    return _Agent(VisitorKind.PERSON, header)


SCANNER_WINDOW = 2.0  # seconds after a hand-over

# An attempt whose answer is awaited, or never came, counts from its start. One that only ran out of
# patience may have arrived; one that a vendor rejected or gave up has not.
_HAND_OVERS = """
SELECT l.id AS link_id, (extract(epoch FROM a.started_at) * 1000)::bigint AS started,
  (extract(epoch FROM COALESCE(a.accepted_at, a.started_at)) * 1000)::bigint AS handed_over,
  a.state NOT IN ('failed', 'expired') OR (a.state = 'expired' AND a.error_class = 'patience')
    AS may_have_arrived
FROM links_link l JOIN channels_attempt a ON a.message_id = l.message_id
WHERE l.id = ANY(%s)
"""


class _HandOver(NamedTuple):
    """A row of `_HAND_OVERS`, in Unix ms."""

    link_id: UUID
    started: int
    handed_over: int
    may_have_arrived: bool


class HandOverWindow(NamedTuple):
    """In Unix ms, from the start of an attempt until its message can have been read."""

    start: int
    end: int
    may_have_arrived: bool


def hand_over_windows(link_ids: Iterable[UUID]) -> dict[UUID, list[HandOverWindow]]:
    windows: dict[UUID, list[HandOverWindow]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_HAND_OVERS, [list(link_ids)])
        for row in fetch_all(cursor, _HandOver):
            end = row.handed_over + int(SCANNER_WINDOW * 1000)
            windows[row.link_id].append(HandOverWindow(row.started, end, row.may_have_arrived))
    return windows


def is_scanner_by_timing(millis: int, windows: list[HandOverWindow]) -> bool:
    if any(window.may_have_arrived and window.end <= millis for window in windows):
        return False
    return any(window.start <= millis < window.end for window in windows)
