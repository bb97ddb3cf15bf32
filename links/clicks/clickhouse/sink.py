"""Writes clicks from the stream to ClickHouse, in a group of its own.

An entry is acknowledged after the server has answered. What was written without that, because the
answer was lost or the process killed, is written again with the same keys.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID

import orjson
import structlog
from django.db import connection
from redis.exceptions import LockError, ResponseError

from links.clicks import counting
from links.clicks.buffer import STREAM
from links.clicks.clickhouse import completeness, tables
from links.clicks.stream import SINK, Batch, Click, Consumer, is_sink
from storage import clickhouse
from storage.redis_client import blocking_redis_client
from storage.sessions import give_back
from storage.store_errors import write_together

log = structlog.get_logger(__name__)

CONSUMER = Consumer(SINK, "sink", max_clicks=50_000)
# One writes at a time: two would write everything twice, which is a waste and nothing worse. It is
# kept after a failure, so that a hanging server does not take a thread of the worker for itself.
LOCK, LOCK_TIMEOUT = "clicks:clickhouse-lock", clickhouse.WRITE_TIMEOUT + 30

# Clicks of other links PostgreSQL has not stored either. An erased link's clicks must not come
# back from the stream.
_KEPT_LINKS = """
SELECT id FROM links_link l WHERE id = ANY(%s)
  AND NOT EXISTS (SELECT FROM links_erasedclicks e WHERE e.link_id = l.id)
"""


def write_clicks() -> int:
    """Returns how many entries of the stream were read; raises UnavailableError or RedisError."""
    lock = blocking_redis_client().lock(LOCK, timeout=LOCK_TIMEOUT, blocking=False)
    if not lock.acquire():
        return 0
    _ensure_group()
    read = CONSUMER.consume(write)
    with suppress(LockError):  # it took too long
        lock.release()
    return read


def write(batches: list[Batch]) -> None:
    kept = _kept_links({click.link_id for batch in batches for click in batch.clicks})
    now = int(time.time() * 1000)
    lines = [
        _line(click, _click_id(batch.id, position), now)
        for batch in batches
        for position, click in enumerate(batch.clicks)
        if click.link_id in kept
    ]
    give_back()
    write_together(lines, _insert, _refuse, _is_refused)


def _insert(lines: Sequence[bytes]) -> None:
    clickhouse.insert(tables.TABLE, b"\n".join(lines))


def _is_refused(error: Exception) -> bool:
    return isinstance(error, clickhouse.RejectedError)


def _refuse(line: bytes, error: Exception) -> None:
    log.error("click_not_copied", link=orjson.loads(line)["link_id"], exc_info=error)


def _ensure_group() -> None:
    try:
        groups = blocking_redis_client().xinfo_groups(STREAM)
    except ResponseError:  # no such stream
        groups = []
    if not any(is_sink(group) for group in groups):
        completeness.start()
        blocking_redis_client().xgroup_create(STREAM, SINK, id="0", mkstream=True)


def _kept_links(link_ids: set[UUID]) -> set[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(_KEPT_LINKS, [list(link_ids)])
        return {link_id for (link_id,) in cursor.fetchall()}


def _line(click: Click, click_id: int, now: int) -> bytes:
    at = counting.counted_at(click.millis, now)  # as PostgreSQL has it
    return orjson.dumps(click._asdict() | {"millis": at, "id": click_id})


def _click_id(batch_id: str, position: int) -> int:
    """The same whenever the entry is read: half of its random id, and the place in it."""
    return (int(batch_id[:16], 16) + position) % 2**64
