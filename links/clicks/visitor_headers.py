"""Who follows a link, as far as headers tell: kind, device, referring host, country. No address.

All of it is looked up by whole header, so that a second visitor of the same sort costs a few
look-ups and no parsing.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import urlsplit

from django.conf import settings

from accounts.client_ip import client_ip
from links.clicks import geoip


class VisitorKind(StrEnum):
    PERSON = "person"  # by a browser, or the one inside an app
    PREVIEW = "preview"  # fetched by a messenger to show what a link leads to
    PREFETCH = "prefetch"  # by a browser, in case its user follows
    PROBE = "probe"  # only asked whether it is there
    SCANNER = "scanner"  # crawlers, security scanners, scripts, and whatever is not known


class Device(StrEnum):
    ANDROID = "android"
    IOS = "ios"
    WINDOWS = "windows"
    MACOS = "macos"
    LINUX = "linux"
    OTHER = ""


def _tokens(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# All in lower case. Part of the User-Agent is enough, and previews are looked for first.
_PREVIEWS = _tokens(
    "preview facebookexternalhit facebot meta-externalfetcher telegrambot twitterbot "
    "slackbot slack-imgproxy discordbot linkedinbot viberbot vkshare odklbot pinterestbot "
    "redditbot google-pagerenderer google-inspectiontool embedly iframely mastodon/ microlink "
    "unfurl line-poker kakaotalk-scrap"
)
_SCANNERS = _tokens(
    "bot crawl spider slurp headless phantomjs selenium puppeteer playwright lighthouse +http "
    "curl/ wget/ httpie python- python/ aiohttp httpx go-http-client java/ java-http-client okhttp "
    "apache-httpclient libwww lwp:: perl/ ruby php/ guzzle node-fetch undici axios got/ node/ "
    "deno/ bun/ reqwest ureq hyper/ dart/ restsharp postman insomnia monitor uptime pingdom "
    "validator facebookplatform google-safety google-read-aloud googleother nmap masscan zgrab "
    "nikto sqlmap proofpoint mimecast barracuda urldefense safelinks"
)
_MESSENGERS = ("whatsapp/",)  # at its beginning; further on it is a browser inside the app
# Each browser begins so. Who does not is no person: clicks of people cost money, and of the
# machines that fetch links nobody has a whole list.
_BROWSERS = ("mozilla/", "opera/")
_PHONES_NAMED_BOT = "cubot"  # a maker of phones, whose browsers say so
# In this order: Android says Linux too, and an iPad says that it is a Mac.
_DEVICES = {
    "android": Device.ANDROID,
    "iphone": Device.IOS,
    "ipad": Device.IOS,
    "ipod": Device.IOS,
    "windows": Device.WINDOWS,
    "mac os": Device.MACOS,
    "macintosh": Device.MACOS,
    "linux": Device.LINUX,
    "cros": Device.LINUX,
}
_PREFETCH_HEADERS = ("HTTP_SEC_PURPOSE", "HTTP_PURPOSE", "HTTP_X_MOZ", "HTTP_X_PURPOSE")
_KEPT, _LONGEST_KEPT = 20_000, 512
LONGEST_HOST = 100

T = TypeVar("T")
_agents: dict[str, tuple[VisitorKind, Device]] = {}
_hosts: dict[str, str] = {}


def kind_of(environ: Mapping[str, Any]) -> VisitorKind:
    """Who asks, by a WSGI environ or Django's `request.META`."""
    if environ["REQUEST_METHOD"] == "HEAD":
        return VisitorKind.PROBE
    if _is_prefetch(environ):
        return VisitorKind.PREFETCH
    return _agent(environ)[0]


def device_of(environ: Mapping[str, Any]) -> Device:
    return _agent(environ)[1]


def referrer_of(environ: Mapping[str, Any]) -> str:
    """The host alone: the rest of an address may say who the visitor is."""
    referrer = environ.get("HTTP_REFERER", "")
    return _remembered(_hosts, referrer, _host_of) if referrer else ""


def country_of(environ: Mapping[str, Any]) -> str:
    """Two letters: by the header of a proxy that knows them, or by a database of our own."""
    if header := settings.COUNTRY_HEADER:
        code = environ.get(header, "")
    elif settings.COUNTRY_DATABASE:
        code = geoip.country(client_ip(environ))
    else:
        return ""
    known = len(code) == 2 and code.isascii() and code.isalpha()
    return code.upper() if known and code.upper() not in {"XX", "T1"} else ""


def _agent(environ: Mapping[str, Any]) -> tuple[VisitorKind, Device]:
    return _remembered(_agents, environ.get("HTTP_USER_AGENT", ""), _judge)


def _remembered(known: dict[str, T], text: str, judge: Callable[[str], T]) -> T:
    found = known.get(text)
    if found is None:
        found = judge(text)
        if len(known) >= _KEPT:
            known.clear()
        if len(text) <= _LONGEST_KEPT:
            known[text] = found
    return found


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


def _judge(agent: str) -> tuple[VisitorKind, Device]:
    words = agent.lower()
    device = next((one for token, one in _DEVICES.items() if token in words), Device.OTHER)
    return _kind_of_words(words.replace(_PHONES_NAMED_BOT, "")), device


def _kind_of_words(words: str) -> VisitorKind:
    if words.startswith(_MESSENGERS) or any(token in words for token in _PREVIEWS):
        return VisitorKind.PREVIEW
    if not words.startswith(_BROWSERS) or any(token in words for token in _SCANNERS):
        return VisitorKind.SCANNER
    return VisitorKind.PERSON


def _host_of(referrer: str) -> str:
    try:
        host = urlsplit(referrer).hostname or ""
    except ValueError:
        return ""
    return host[:LONGEST_HOST] if host.isascii() and host.isprintable() else ""
