"""Tells bots from people who open a link: by request headers, then by timing.

Headers decide when the link is followed (`kind_of`): a person opens a page with a browser that is
recognised by its structure (`browsers`); every other client is a scanner, which proves no delivery.
Timing decides when a batch of clicks is read from the stream (`stream_entries.read_batches`), once
for all its consumers: a visitor that looks like a browser and comes while the message is being
handed over is a scanner, because nobody has had the time to read the message. Links sent with test
keys are no exception, so that they behave as live ones do.

All channels of a message carry the same link, and a click does not say which one was opened. So the
timing rule ends once the first message that may have arrived is SCANNER_WINDOW old: its reader may
open the link while the next channel's message goes out.

The price: a person who opens a message within SCANNER_WINDOW of its hand-over counts as a scanner,
and that click proves no delivery; their next one does. A scanner that checks the second channel's
message, when the first may have arrived, is recognised by its headers alone.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from config.storage.statements.named_rows import fetch_all
from links.clicks import browsers
from links.clicks.visit_details import cached


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
    """What a User-Agent claims to be."""

    kind: VisitorKind
    own_header: str = ""  # of a person's browser: what it sends besides


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
    own_header = browsers.own_header(user_agent)
    if own_header is None or any(token in agent for token in _SCANNERS):
        return _Agent(VisitorKind.SCANNER)
    return _Agent(VisitorKind.PERSON, own_header)


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
    """Link → the hand-overs of its message."""
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
