"""Which User-Agents have the structure of a person's browser, and what that browser sends besides.

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
from collections.abc import Callable
from typing import NamedTuple

from django.conf import settings
from django.utils import timezone

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


# Names of browsers and apps may stand before and behind, comments only behind an app's name.
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
# Of engines and browsers that people use on a desk, and of phones that pretend to be one.
_DESK_NAMES = re.compile(
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
        if found := engine.pattern.match(user_agent):
            if not _PHONE.search(found[1]) and not _is_of_a_desk(user_agent):
                return None
            return _own_header(engine, found[1], (int(found[2][:4]), int(found[3][:4])))
    return None


def _is_of_a_desk(user_agent: str) -> bool:
    """Whether it names known browsers alone, and has no comment but its platform and layout."""
    names = [part.partition("/")[0] for part in _COMMENT.sub("", user_agent).split()]
    return user_agent.count("(") <= 2 and all(map(_DESK_NAMES.fullmatch, names))


def _own_header(engine: _Engine, platform: str, version: _Version) -> str | None:
    if not engine.oldest <= version or version[0] > engine.newest(timezone.now().year):
        return None
    if not settings.SHORT_URL.startswith("https:"):  # without TLS nobody sends Sec-Fetch-Mode
        return ACCEPT
    is_old_phone = version < engine.fetch_mode_since and _PHONE.search(platform)
    return ACCEPT if is_old_phone else FETCH_MODE
