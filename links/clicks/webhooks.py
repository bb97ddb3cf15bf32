"""Appends `link.clicked` events of people's clicks: one event for each link in a batch.

Reads the stream in its own consumer group, so that it and the counter do not wait for each other.
An entry is acknowledged after its events are committed; an entry that is read twice yields events
with the same keys, which are ignored.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection
from django.utils import timezone

from catalogue.ids import uuid7
from links.addresses import short_hosts
from links.clicks.stream import Batch, Consumer
from storage.postgres_limits import count_in_postgres
from storage.store_errors import write_together
from webhooks import events

log = structlog.get_logger(__name__)

# The names in Redis stay: the consumer group keeps its position under them.
CONSUMER = Consumer("callbacks", "teller")
# Test links are free, and anybody may click them in a loop: each event is a call to up to ten
# endpoints, whose rows are kept for a month.
CLICKS_OF_TEST_LINK = 50
TEST_EVENTS_A_DAY = 3000  # of a company, which may make as many test links a day


class EventRow(NamedTuple):
    """An event to write: the clicks on a link in one batch."""

    event_id: UUID
    link_id: UUID
    batch_id: UUID
    key: str
    clicks: int
    at: float  # time of the last click, in Unix seconds


# `clicks` is the link's total. The counter reads the stream separately: batches that it has not
# counted yet are added.
_CLICKED = f"""
SELECT n.event_id AS id, l.company_id, l.mode, 'link.clicked' AS kind, n.key,
  jsonb_build_object(
    'id', 'lnk_' || replace(l.id::text, '-', ''),
    'short_url', COALESCE(%(scheme)s::text || h.host, %(base)s::text) || '/' || l.slug,
    'url', l.url, 'new_clicks', n.clicks,
    'clicks', l.clicks + COALESCE(sum(n.clicks) FILTER (WHERE b.id IS NULL)
      OVER (PARTITION BY n.link_id ORDER BY n.at, n.event_id ROWS UNBOUNDED PRECEDING), 0),
    'clicked_at', {events.iso_sql("to_timestamp(n.at)")},
    'test', l.mode = 'test') AS data, to_timestamp(n.at) AS at
FROM unnest(%(event_id)s::uuid[], %(link_id)s::uuid[], %(batch_id)s::uuid[], %(key)s::text[],
            %(clicks)s::int[], %(at)s::float[])
  AS n(event_id, link_id, batch_id, key, clicks, at)
JOIN links_link l ON l.id = n.link_id AND (l.mode <> 'test' OR l.clicks < %(most_of_test)s)
LEFT JOIN links_clickbatch b ON b.id = n.batch_id
LEFT JOIN links_shorthost h ON h.id = l.host_id"""  # noqa: S608
APPEND_EVENTS = f"WITH {events.append_sql(_CLICKED)}"


# Test links whose company has a webhook endpoint.
_OF_TESTS = f"""
SELECT l.id, l.company_id FROM links_link l
WHERE l.id = ANY(%s::uuid[]) AND l.mode = 'test' AND l.clicks < %s
  AND {events.has_endpoint_sql("l")}"""  # noqa: S608


def append_click_events() -> int:
    return CONSUMER.consume(
        lambda batches: append_events([row for batch in batches for row in _rows(batch)])
    )


def append_events(rows: Sequence[EventRow]) -> None:
    write_together(_within_quota(rows), _append, _refuse)


def _within_quota(rows: Sequence[EventRow]) -> Sequence[EventRow]:
    """The rows, without those of companies whose test links have used up the day's events."""
    with connection.cursor() as cursor:
        cursor.execute(_OF_TESTS, [[row.link_id for row in rows], CLICKS_OF_TEST_LINK])
        companies: dict[UUID, int] = dict(cursor.fetchall())
    if not companies:
        return rows
    now = timezone.now()
    end = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    counts = Counter(companies[row.link_id] for row in rows if row.link_id in companies)
    over = {
        company
        for company, count in counts.items()
        if not count_in_postgres(
            f"quota:test:click-events:{company}:{now:%Y%m%d}",
            most=TEST_EVENTS_A_DAY,
            end=end,
            count=count,
        )
    }
    return [row for row in rows if companies.get(row.link_id) not in over]


def _refuse(row: EventRow, error: Exception) -> None:
    log.error("click_event_not_written", link=str(row.link_id), exc_info=error)


def _append(rows: Sequence[EventRow]) -> None:
    arrays = {name: [getattr(row, name) for row in rows] for name in EventRow._fields}
    params: dict[str, Any] = {
        "base": settings.SHORT_URL,
        "scheme": short_hosts.scheme(),
        "most_of_test": CLICKS_OF_TEST_LINK,
        **arrays,
    }
    with connection.cursor() as cursor:
        cursor.execute(APPEND_EVENTS, params)
        events.wake_dispatcher(cursor.rowcount)


def _rows(batch: Batch) -> list[EventRow]:
    return [
        EventRow(
            event_id=uuid7(),
            link_id=link_id,
            batch_id=UUID(hex=batch.id),
            key=f"click:{batch.id}:{link_id.hex}",
            clicks=len(times),
            at=max(times) / 1000,
        )
        for link_id, times in batch.by_people().items()
    ]
