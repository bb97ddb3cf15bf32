"""Trims the stream behind its readers.

Entries stay until every group has acknowledged them, and TRIM_AFTER longer. For ClickHouse, which
may be away, they stay CLICKHOUSE_BACKLOG seconds at most: older ones are lost to it, which is
noted, logged, and told by `doctor`.
"""

import time
from typing import Any

import structlog
from django.conf import settings
from redis.exceptions import RedisError

from config.storage.redis_client import blocking_redis_client
from links.clicks import stream
from links.clicks.buffer import STREAM, STREAM_LENGTH
from links.clicks.clickhouse import completeness
from links.clicks.stream import entry_ms

log = structlog.get_logger(__name__)

TRIM_AFTER = 60.0  # seconds that entries read by every group stay


def trim() -> None:
    try:
        _trim_to(blocking_redis_client().xinfo_groups(STREAM))
    except (RedisError, OSError) as error:
        log.warning("click_stream_not_trimmed", error=type(error).__name__)


def _trim_to(groups: Any) -> None:
    counters = [group for group in groups if not stream.is_sink(group)]
    if not counters or any(group["pending"] for group in counters):
        return
    done = min(entry_ms(group["last-delivered-id"]) for group in counters)
    cut = min(done, _ms_ago(TRIM_AFTER))
    for group in groups:
        if stream.is_sink(group):
            cut = _cut_behind_sink(group, cut)
    blocking_redis_client().xtrim(STREAM, minid=f"{cut}-0", approximate=True)


def _cut_behind_sink(group: Any, cut: int) -> int:
    """Where to trim, at `cut` or before it."""
    if not settings.CLICKHOUSE_URL:  # turned off: nobody will read for it
        blocking_redis_client().xgroup_destroy(STREAM, stream.SINK)
        return cut
    waiting = stream.oldest(group)
    if waiting is None:
        return cut
    kept_from = min(cut, _ms_ago(settings.CLICKHOUSE_BACKLOG))
    if entry_ms(waiting) < kept_from:
        completeness.note_loss(kept_from / 1000)
    elif blocking_redis_client().xlen(STREAM) >= STREAM_LENGTH:  # Redis drops the oldest itself
        completeness.note_loss(entry_ms(waiting) / 1000)
    return min(cut, max(entry_ms(waiting), kept_from))


def _ms_ago(seconds: float) -> int:
    return int((time.time() - seconds) * 1000)
