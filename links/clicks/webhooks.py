"""Appends `link.clicked` events of people's clicks: one event for each link in a batch.

Reads the stream in its own consumer group, so that it and the counter do not wait for each other.
An entry is acknowledged after its events are committed; an entry that is read twice yields events
with the same keys, which are ignored.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

import structlog
from django.conf import settings
from django.utils import timezone

from catalogue.ids import public_id_sql, uuid7
from links.addresses import short_hosts
from links.clicks.stream import Batch, Consumer
from storage.postgres_limits import count_in_postgres, end_of_utc_day
from storage.statements import sql_files
from storage.statements.queries import execute, fetch_tuples
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


_SQL = sql_files.read_several(
    "links/clicks/webhooks.sql",
    public_id=public_id_sql("lnk", "link.id"),
    iso_clicked_at=events.iso_sql("to_timestamp(given.at)"),
    has_subscribers=events.has_endpoint_sql("link"),
)
APPEND_EVENTS = f"WITH {events.append_sql(_SQL['events'])}"


def append_click_events() -> int:
    return CONSUMER.consume(
        lambda batches: append_events([row for batch in batches for row in _event_rows(batch)])
    )


def append_events(rows: Sequence[EventRow]) -> None:
    write_together(_within_quota(rows), _append, _refuse)


def _within_quota(rows: Sequence[EventRow]) -> Sequence[EventRow]:
    """The rows, without those of companies whose test links have used up the day's events."""
    params = [[row.link_id for row in rows], CLICKS_OF_TEST_LINK]
    companies: dict[UUID, int] = dict(fetch_tuples(_SQL["companies_of_test_links"], params))
    if not companies:
        return rows
    now = timezone.now()
    end = end_of_utc_day(now)
    counts = Counter(companies[row.link_id] for row in rows if row.link_id in companies)
    over_quota = {
        company
        for company, count in counts.items()
        if not count_in_postgres(
            f"quota:test:click-events:{company}:{now:%Y%m%d}",
            limit=TEST_EVENTS_A_DAY,
            end=end,
            count=count,
        )
    }
    return [row for row in rows if companies.get(row.link_id) not in over_quota]


def _refuse(row: EventRow, error: Exception) -> None:
    log.error("click_event_not_written", link=str(row.link_id), exc_info=error)


def _append(rows: Sequence[EventRow]) -> None:
    arrays = {name: [getattr(row, name) for row in rows] for name in EventRow._fields}
    params: dict[str, Any] = {
        "base": settings.SHORT_URL,
        "scheme": short_hosts.scheme(),
        "max_test_clicks": CLICKS_OF_TEST_LINK,
        **arrays,
    }
    events.wake_dispatcher(execute(APPEND_EVENTS, params))


def _event_rows(batch: Batch) -> list[EventRow]:
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
