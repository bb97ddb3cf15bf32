"""Whose clicks they are, judged once for all that read the stream: counts, proofs and webhooks.

Headers were judged when the link was followed (`visitors`). What calls itself a browser and comes
in the moment in which the message was handed over is a scanner: no person has read it yet. Links
sent by test keys are no exception, so that what was tried with them is what live ones do.

All the channels of a message carry one link, and a click does not say which of them was opened. So
nobody is hasty any more once the first hand-over that may have come to a person is HASTE ago: they
may be opening that one while the next goes out.

The price: a person who opens a message within HASTE of its hand-over is counted as a scanner, and
proves nothing by that click; by the next one they do. And a scanner that meets the second channel's
message, on a first that may have arrived, is known by its headers alone.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import orjson
import structlog
from django.db import connection

from links.clicks.visitor_headers import VisitorKind

log = structlog.get_logger(__name__)

HASTE = 2.0  # seconds
Entry = tuple[bytes, dict[bytes, bytes]]
LATEST = 2**42  # Unix ms: the year 2109
Spans = dict[UUID, list["Span"]]

# An attempt whose answer is awaited, or never came, is timed from when it was begun. One that only
# ran out of patience may have arrived; of what a vendor refused or gave up nobody has anything.
_SPANS = """
SELECT l.id, (extract(epoch FROM a.started_at) * 1000)::bigint,
  (extract(epoch FROM COALESCE(a.accepted_at, a.started_at)) * 1000)::bigint,
  a.state NOT IN ('failed', 'expired') OR (a.state = 'expired' AND a.error_class = 'patience')
FROM links_link l JOIN channels_attempt a ON a.message_id = l.message_id
WHERE l.id = ANY(%s)
"""


class Click(NamedTuple):
    link_id: UUID
    kind: str
    millis: int  # Unix time
    referrer: str = ""
    device: str = ""
    country: str = ""


class Span(NamedTuple):
    """In Unix ms, from when a message was about to be handed over to when it can have been read."""

    begun: int
    end: int
    may_have_come: bool


@dataclass(frozen=True, slots=True)
class Batch:
    """An entry of the stream; its id is what it is known by when it comes again."""

    id: str
    clicks: list[Click]

    def by_people(self) -> dict[UUID, list[int]]:
        """Link → when people clicked, in Unix milliseconds."""
        times: dict[UUID, list[int]] = defaultdict(list)
        for click in self.clicks:
            if click.kind == VisitorKind.PERSON:
                times[click.link_id].append(click.millis)
        return times


def judged(entries: list[Entry]) -> list[Batch]:
    batches = [batch for batch in map(_read, entries) if batch]
    spans = _spans({click.link_id for batch in batches for click in batch.clicks})
    if not spans:
        return batches
    return [Batch(one.id, [_judged(click, spans) for click in one.clicks]) for one in batches]


def _read(entry: Entry) -> Batch | None:
    """None of what was trimmed, and of what is no batch: it must hold up no other."""
    entry_id, fields = entry
    try:
        rows = orjson.loads(fields[b"batch"]) if fields else []
        clicks = [
            Click(UUID(hex=row[0]), VisitorKind(row[1]).value, _time(row[2]), *row[3:6])
            for row in rows
        ]
        return Batch(UUID(hex=fields[b"id"].decode()).hex, clicks) if fields else None
    except (ValueError, LookupError, TypeError, AttributeError):
        log.exception("clicks_not_understood", entry=entry_id.decode())
        return None


def _time(millis: int) -> int:
    if 0 <= millis < LATEST:
        return millis
    raise ValueError(millis)


def _spans(link_ids: set[UUID]) -> Spans:
    """Link → the hand-overs of its message."""
    spans: Spans = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_SPANS, [list(link_ids)])
        for link_id, begun, handed_over, may_have_come in cursor.fetchall():
            spans[link_id].append(Span(begun, handed_over + int(HASTE * 1000), may_have_come))
    return spans


def _judged(click: Click, spans: Spans) -> Click:
    if click.kind != VisitorKind.PERSON or click.link_id not in spans:
        return click
    is_hasty = _is_hasty(click.millis, spans[click.link_id])
    return click._replace(kind=VisitorKind.SCANNER.value) if is_hasty else click


def _is_hasty(millis: int, spans: list[Span]) -> bool:
    if any(span.may_have_come and span.end <= millis for span in spans):
        return False
    return any(span.begun <= millis < span.end for span in spans)
