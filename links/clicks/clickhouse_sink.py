"""Writes clicks from the stream to ClickHouse, in its own consumer group, and erases a person's.

An entry is acknowledged after the server has answered. If the response was lost or the process was
killed, the entry is written again with the same keys.

Erased links are noted in the transaction of the erasure. A link stays noted while the stream can
still hold its clicks, which are left out, and until ClickHouse has none.
"""

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

import orjson
import structlog
from django.conf import settings
from django.db.backends.utils import CursorWrapper
from django.utils import timezone
from redis.exceptions import LockError, ResponseError

from links.clicks import clickhouse_tables, counting
from links.clicks.buffer import STREAM
from links.clicks.stream import SINK, Batch, Click, Consumer, is_sink
from links.models import ErasedClicks
from storage import clickhouse
from storage.redis_client import blocking_redis_client
from storage.sessions import release_connection
from storage.statements.queries import fetch_column
from storage.store_errors import write_together

log = structlog.get_logger(__name__)

CONSUMER = Consumer(SINK, "sink", max_clicks=50_000)
# One process writes at a time: two would write everything twice, which is harmless but a waste. The
# lock is kept after a failure, so that a hanging server does not occupy a thread of the worker.
LOCK = "clicks:clickhouse-lock"
LOCK_TIMEOUT = clickhouse.WRITE_TIMEOUT + 30

# Clicks of links that do not exist are left out: PostgreSQL does not store them either. An erased
# link's clicks must not return from the stream.
_EXISTING_LINKS = """
SELECT id FROM links_link link WHERE id = ANY(%s)
  AND NOT EXISTS (SELECT FROM links_erasedclicks erased WHERE erased.link_id = link.id)
"""


def write_clicks() -> int:
    """Writes the clicks of unread entries to ClickHouse; returns the number of entries.

    Raises UnavailableError or RedisError.
    """
    lock = blocking_redis_client().lock(LOCK, timeout=LOCK_TIMEOUT, blocking=False)
    if not lock.acquire():
        return 0
    _ensure_group()
    read = CONSUMER.consume(write)
    with suppress(LockError):  # it took too long
        lock.release()
    return read


def write(batches: list[Batch]) -> None:
    link_ids = _existing_links({click.link_id for batch in batches for click in batch.clicks})
    now = int(time.time() * 1000)
    lines = [
        _json_line(click, _click_id(batch.id, position), now)
        for batch in batches
        for position, click in enumerate(batch.clicks)
        if click.link_id in link_ids
    ]
    release_connection()
    write_together(lines, _insert, _refuse, _is_refused)


def _insert(lines: Sequence[bytes]) -> None:
    clickhouse.insert(clickhouse_tables.TABLE, b"\n".join(lines))


def _is_refused(error: Exception) -> bool:
    return isinstance(error, clickhouse.RejectedError)


def _refuse(line: bytes, error: Exception) -> None:
    """Leaves a refused click out, and records that ClickHouse lacks it.

    A server without memory for one click is overloaded: all clicks wait.
    """
    if isinstance(error, clickhouse.NoMemoryError):
        raise clickhouse.UnavailableError(str(error)) from error
    clickhouse_tables.record_loss(time.time())
    log.error("click_not_copied", link=orjson.loads(line)["link_id"], exc_info=error)


def _ensure_group() -> None:
    try:
        groups = blocking_redis_client().xinfo_groups(STREAM)
    except ResponseError:  # the stream does not exist
        groups = []
    if not any(is_sink(group) for group in groups):
        clickhouse_tables.count_as_complete()
        blocking_redis_client().xgroup_create(STREAM, SINK, id="0", mkstream=True)


def _existing_links(link_ids: set[UUID]) -> set[UUID]:
    return set(fetch_column(_EXISTING_LINKS, [list(link_ids)]))


def _json_line(click: Click, click_id: int, now: int) -> bytes:
    at = counting.counted_at(click.millis, now)  # as in PostgreSQL
    return orjson.dumps(click._asdict() | {"millis": at, "id": click_id})


def _click_id(batch_id: str, position: int) -> int:
    """A click's id, the same at each reading: half of its entry's random id, plus the position."""
    return (int(batch_id[:16], 16) + position) % 2**64


# An insert that began before the erasure has ended by then.
SETTLED_AFTER = timedelta(minutes=10)
BATCH_SIZE = 1000

_RECORD_ERASED = """
INSERT INTO links_erasedclicks (link_id, erased_at, is_gone)
SELECT unnest(%s::uuid[]), now(), false
ON CONFLICT (link_id) DO UPDATE SET erased_at = now(), is_gone = false
"""


def note_erasure(cursor: CursorWrapper, link_ids: Sequence[UUID]) -> None:
    """Notes the erased links; called in the transaction that erases them."""
    if clickhouse.is_configured() and link_ids:
        cursor.execute(_RECORD_ERASED, [list(link_ids)])


def erase() -> int:
    """Starts, hourly, the erasure of clicks that remain; returns the number of links.

    ClickHouse erases in the background: the next run checks whether it has.
    """
    settled = ErasedClicks.objects.filter(
        is_gone=False, erased_at__lt=timezone.now() - SETTLED_AFTER
    )
    due = list(settled.order_by("erased_at").values_list("link_id", flat=True)[:BATCH_SIZE])
    present = _links_with_clicks(due) if due else set()
    if present:
        clickhouse.execute(
            f"ALTER TABLE {clickhouse_tables.TABLE} DELETE WHERE {_link_id_condition(present)}"
        )
    ErasedClicks.objects.filter(link_id__in=set(due) - present).update(is_gone=True)
    # Notes older than the stream; the ids of batches are kept for the same reason.
    retention = counting.BATCH_RETENTION + timedelta(seconds=settings.CLICKHOUSE_BACKLOG)
    ErasedClicks.objects.filter(is_gone=True, erased_at__lt=timezone.now() - retention).delete()
    return len(present)


def _links_with_clicks(link_ids: Iterable[UUID]) -> set[UUID]:
    condition = _link_id_condition(link_ids)
    query = f"SELECT DISTINCT link_id FROM {clickhouse_tables.TABLE} WHERE {condition}"  # noqa: S608
    return {UUID(row["link_id"]) for row in clickhouse.read(query)}


def _link_id_condition(link_ids: Iterable[UUID]) -> str:
    return f"link_id IN ({', '.join(map(clickhouse_tables.uuid, link_ids))})"
