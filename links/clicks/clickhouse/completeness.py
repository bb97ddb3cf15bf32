"""Since when ClickHouse has every click: its group was made then, or lost what was older.

Kept in Redis beside the stream, so that both are lost together; without it nothing is complete.
"""

import time
from datetime import UTC, datetime

import structlog

from storage.redis_client import blocking_redis_client, redis_client

log = structlog.get_logger(__name__)

KEYS = _SINCE, _REPORTED = ("clicks:clickhouse-since", "clicks:clickhouse-loss")
REPORT_PAUSE = 600  # seconds


def start() -> None:
    """From now on every click is read."""
    blocking_redis_client().set(_SINCE, time.time())


def note_loss(until: float) -> None:
    """Clicks earlier than `until`, in Unix seconds, may be missing."""
    redis = blocking_redis_client()
    redis.set(_SINCE, max(until, float(redis.get(_SINCE) or 0)))
    if redis.set(_REPORTED, 1, nx=True, ex=REPORT_PAUSE):
        until_text = datetime.fromtimestamp(until, UTC).isoformat()
        log.error("clicks_missing_in_clickhouse", until=until_text)


def complete_since() -> datetime | None:
    """Raises RedisError."""
    since = redis_client().get(_SINCE)
    return datetime.fromtimestamp(float(since), UTC) if since else None
