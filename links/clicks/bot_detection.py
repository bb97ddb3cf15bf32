"""Recognises the User-Agents of people's browsers, and the header that these browsers add.

A click proves a delivery, which costs tokens, so the rule lists the clients that may prove one: no
list of bots is ever complete.

Recognised:
- Chromium, Gecko and Apple's WebKit in existing versions, and so nearly every browser and in-app
  view: Yandex, Samsung, Huawei, UC, Opera, Edge; WhatsApp, Telegram, VK, Instagram;
- any additional name on phones, where every app adds its own; on desktops, where bots do so, only
  known browsers;
- Opera Mini, which fetches through its own servers and names the phone in a header.

Needs `Sec-Fetch-Mode` on navigations over HTTPS:
- engines that send it: https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Sec-Fetch-Mode
  (28 November 2026);
- desktop engines too old to send it, which are therefore treated as bots; phones with these engines
  need no header, because their makers stop updating them. The browsers of iPads send it but report
  an old desktop Safari.

Rejected:
- Internet Explorer, whose name Office and many programs use;
- Android's browser before Chromium (Android 4.3);
- the other proxies of UC and Opera;
- everything else.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from links.clicks.visit_details import cached
from storage.statements import sql_files
from storage.statements.queries import select

# Characters of a User-Agent. An app's own names make it longer, but never this long.
MAX_LENGTH = 1000
FETCH_MODE = "HTTP_SEC_FETCH_MODE"
ACCEPT = "HTTP_ACCEPT"

_Version = tuple[int, int]


class _Engine(NamedTuple):
    pattern: re.Pattern[str]  # group 1 is the platform, groups 2 and 3 are the version
    oldest: _Version
    newest: Callable[[int], int]  # the newest version of a year
    fetch_mode_since: _Version


def _fortnightly(year: int) -> int:
    """The newest version by Chromium's release cycle since 153 of September 2026, the fastest."""
    return 26 * (year - 2019)


def _yearly(year: int) -> int:
    """Apple's version numbers, named after the following year."""
    return year - 1998


# Names of browsers and apps may precede or follow; comments may only follow an app's name.
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
# User-Agents of desktop engines and browsers, and of phones that pretend to be desktops.
_DESKTOP_NAMES = re.compile(
    "AppleWebKit|Atom|Avast|AVG|Brave|CCleaner|Chrome|Chromium|coc_coc_browser|CriOS|Ddg|DuckDuckGo"
    "|Edg|Edge|EdgiOS|Firefox|Focus|FxiOS|Gecko|GSA|Iron|Maxthon|Mobile|Mozilla|Norton|Opera|OPiOS"
    r"|OPR|OPT|Puffin|QQBrowser|Safari|SamsungBrowser|Seznam\.cz|SLBrowser|Sputnik|UBrowser|Ubuntu"
    "|UCBrowser|Version|Vivaldi|Waterfox|Whale|YaBrowser|Yowser|Yptp"
)
_COMMENT = re.compile(r"\((?:[^()]|\([^()]*\))*\)")
_OPERA_MINI = re.compile(r"Opera/9\.80 \([^()]*Opera Mini/")


def navigation_header(user_agent: str) -> str | None:
    """The environ key that this browser's navigations have; None if it is not a browser."""
    if len(user_agent) > MAX_LENGTH:  # some patterns take quadratic time
        return None
    if _OPERA_MINI.match(user_agent):
        return "HTTP_X_OPERAMINI_PHONE_UA"
    for engine in _ENGINES:
        if match := engine.pattern.match(user_agent):
            if not _PHONE.search(match[1]) and not _is_desktop(user_agent):
                return None
            return _navigation_header(engine, match[1], (int(match[2][:4]), int(match[3][:4])))
    return None


def _is_desktop(user_agent: str) -> bool:
    """Whether it contains only known browsers, and no comment but its platform and layout."""
    names = [part.partition("/")[0] for part in _COMMENT.sub("", user_agent).split()]
    return user_agent.count("(") <= 2 and all(map(_DESKTOP_NAMES.fullmatch, names))


def _navigation_header(engine: _Engine, platform: str, version: _Version) -> str | None:
    if not engine.oldest <= version or version[0] > engine.newest(timezone.now().year):
        return None
    if not settings.SHORT_URL.startswith("https:"):  # browsers send no Sec-Fetch-Mode without TLS
        return ACCEPT
    is_old_phone = version < engine.fetch_mode_since and _PHONE.search(platform)
    return ACCEPT if is_old_phone else FETCH_MODE


class VisitorKind(StrEnum):
    PERSON = "person"  # a known browser, or an in-app browser, that opens a page
    PREVIEW = "preview"  # a messenger that previews a link
    PREFETCH = "prefetch"  # a browser that prefetches in case its user follows the link
    PROBE = "probe"  # a HEAD request
    SCANNER = "scanner"  # crawlers, security scanners, scripts, and every unknown client


# SQL, for PostgreSQL and ClickHouse: the visits that are counted as previews.
IS_PREVIEW = f"kind IN ('{VisitorKind.PREVIEW}', '{VisitorKind.PREFETCH}', '{VisitorKind.PROBE}')"


def _tokens(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# In lower case, matched anywhere in the User-Agent; previews are tried first.
_PREVIEWS = _tokens(
    "preview facebookexternalhit facebot meta-externalfetcher telegrambot twitterbot "
    "slackbot slack-imgproxy discordbot linkedinbot viberbot vkshare odklbot pinterestbot "
    "redditbot google-pagerenderer google-inspectiontool embedly iframely mastodon/ microlink "
    "unfurl line-poker kakaotalk-scrap"
)
# Additions by bots to the User-Agent of a whole browser. Other bots have no browser's structure.
_SCANNERS = _tokens(
    "bot crawl spider compatible; http: https: lighthouse electron/ monitor uptime pingdom "
    "validator facebookplatform google-safety google-read-aloud googleother proofpoint mimecast "
    "barracuda urldefense safelinks"
)
_MESSENGERS = ("whatsapp/",)  # only as a prefix; later in the text it is a browser inside the app
_PHONES_NAMED_BOT = "cubot"  # a phone maker, whose browsers contain its name
_PREFETCH_HEADERS = ("HTTP_SEC_PURPOSE", "HTTP_PURPOSE", "HTTP_X_MOZ", "HTTP_X_PURPOSE")


class _Agent(NamedTuple):
    """The software that a User-Agent names."""

    kind: VisitorKind
    navigation_header: str = ""  # environ key of the header that a person's browser adds


_agents: dict[str, _Agent] = {}


def kind_of(environ: Mapping[str, Any]) -> VisitorKind:
    """The kind of the visitor, from a WSGI environ or Django's `request.META`."""
    if environ["REQUEST_METHOD"] == "HEAD":
        return VisitorKind.PROBE
    if _is_prefetch(environ):
        return VisitorKind.PREFETCH
    agent = cached(_agents, environ.get("HTTP_USER_AGENT", ""), _agent_of)
    if agent.navigation_header and not _is_navigation(environ, agent.navigation_header):
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


def _is_navigation(environ: Mapping[str, Any], navigation_header: str) -> bool:
    """Whether these are the headers of a page navigation, not of an image or a script."""
    return (
        navigation_header in environ
        and "text/html" in environ.get("HTTP_ACCEPT", "")
        and "HTTP_ACCEPT_LANGUAGE" in environ
        and environ.get("HTTP_SEC_FETCH_DEST", "document") == "document"
        and environ.get("HTTP_SEC_FETCH_MODE", "navigate") == "navigate"
        # Previews send it, because they need only the beginning of the page.
        and "HTTP_RANGE" not in environ
        and "Headless" not in environ.get("HTTP_SEC_CH_UA", "")
    )


def _agent_of(user_agent: str) -> _Agent:
    agent = user_agent.lower().replace(_PHONES_NAMED_BOT, "")
    if agent.startswith(_MESSENGERS) or any(token in agent for token in _PREVIEWS):
        return _Agent(VisitorKind.PREVIEW)
    header = navigation_header(user_agent)
    if header is None or any(token in agent for token in _SCANNERS):
        return _Agent(VisitorKind.SCANNER)
    return _Agent(VisitorKind.PERSON, header)


SCANNER_WINDOW = 2.0  # seconds after a hand-over

_HAND_OVERS = sql_files.read("links/clicks/hand_overs.sql")


class _HandOver(NamedTuple):
    """A row of `_HAND_OVERS`, in Unix ms."""

    link_id: UUID
    started: int
    handed_over: int
    may_have_arrived: bool


class HandOverWindow(NamedTuple):
    """A period in Unix ms, from the start of an attempt until the message can have been read."""

    start: int
    end: int
    may_have_arrived: bool


def hand_over_windows(link_ids: Iterable[UUID]) -> dict[UUID, list[HandOverWindow]]:
    windows: dict[UUID, list[HandOverWindow]] = defaultdict(list)
    for row in select(_HandOver, _HAND_OVERS, [list(link_ids)]):
        end = row.handed_over + int(SCANNER_WINDOW * 1000)
        windows[row.link_id].append(HandOverWindow(row.started, end, row.may_have_arrived))
    return windows


def is_scanner_by_timing(millis: int, windows: list[HandOverWindow]) -> bool:
    if any(window.may_have_arrived and window.end <= millis for window in windows):
        return False
    return any(window.start <= millis < window.end for window in windows)
