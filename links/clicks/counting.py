"""Counts clicks from the stream in PostgreSQL, each entry once even if redelivered.

Click rows, the counts of their links and the entry's id are one commit, and the entry is
acknowledged after it. If the counter dies in between, the next one reads the entry again and finds
its id.
"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from links.clicks import partitions, stream
from links.clicks.bot_detection import IS_PREVIEW
from links.clicks.stream import Batch, Click, Consumer
from storage import advisory_locks
from storage.months.calendar import month_of
from storage.statements import sql_files
from storage.statements.json_rows import dump_rows, json_rows
from storage.statements.queries import execute
from storage.store_errors import write_together

log = structlog.get_logger(__name__)
Row = dict[str, Any]

CONSUMER = Consumer("counts", "counter")
COUNT_LOCK = 0x6B766C6B  # an advisory lock
BATCH_RETENTION = timedelta(days=7)
# An older click, from a wrong clock or an outage of Redis, counts as now.
MAX_CLICK_AGE = 2 * 24 * 3_600_000  # ms
MAX_CLOCK_LEAD = 3_600_000  # ms


INSERT_BATCHES = """
INSERT INTO links_clickbatch (id, counted_at)
SELECT unnest(%s::uuid[]), now() ON CONFLICT DO NOTHING RETURNING id
"""

_CLICKS = json_rows(
    "clicks", "link_id uuid, millis float8, kind text, referrer text, device text, country text"
)
COUNT = sql_files.fill(
    sql_files.read("links/clicks/count.sql"), clicks=_CLICKS, is_preview=IS_PREVIEW
)


def count_clicks() -> int:
    read = CONSUMER.consume(count)
    if read:
        stream.trim()
    return read


def count(batches: list[Batch]) -> None:
    now = int(time.time() * 1000)
    rows_of = {UUID(hex=batch.id): [_click_row(c, now) for c in batch.clicks] for batch in batches}
    times = [row["millis"] for rows in rows_of.values() for row in rows]
    ends = (min(times), max(times)) if times else ()  # less than a month apart
    partitions.ensure(*{month_of(datetime.fromtimestamp(t / 1000, UTC), UTC) for t in ends})
    with transaction.atomic(), connection.cursor() as cursor:
        # One counter at a time: two would block each other on the same links.
        advisory_locks.lock(COUNT_LOCK)
        cursor.execute(INSERT_BATCHES, [list(rows_of)])
        new = [batch_id for (batch_id,) in cursor.fetchall()]
        rows = [row for batch_id in new for row in rows_of[batch_id]]
        write_together(rows, partial(_write, cursor), _refuse)


def _write(cursor: CursorWrapper, rows: Sequence[Row]) -> None:
    cursor.execute(COUNT, {"clicks": dump_rows(rows), "zone": settings.TIME_ZONE})


def _refuse(row: Row, error: Exception) -> None:
    log.error("click_not_counted", link=str(row["link_id"]), exc_info=error)


def counted_at(millis: int, now: int) -> int:
    """The time at which a click counts; all times are Unix ms."""
    return millis if now - MAX_CLICK_AGE < millis < now + MAX_CLOCK_LEAD else now


def _click_row(click: Click, now: int) -> Row:
    return click._asdict() | {"millis": counted_at(click.millis, now)}


def delete_old_batches(limit: int) -> int:
    """Deletes ids of entries that the stream cannot deliver again."""
    return execute(
        "DELETE FROM links_clickbatch WHERE id IN (SELECT id FROM links_clickbatch"
        " WHERE counted_at < %s LIMIT %s)",
        [timezone.now() - BATCH_RETENTION, limit],
    )
