"""The table of clicks in ClickHouse: monthly partitions, dropped like PostgreSQL's."""

import re
import time
from datetime import UTC, datetime, timedelta
from uuid import UUID

import structlog
from django.conf import settings
from django.utils import timezone

from storage import clickhouse
from storage.months.calendar import next_month, parse_month
from storage.redis_client import blocking_redis_client, redis_client

log = structlog.get_logger(__name__)
TABLE = "clicks"

# A click inserted twice has the same key twice: merges keep one row, and reads use FINAL. `id`
# tells clicks of one link in one millisecond apart.
CREATE = f"""
CREATE TABLE IF NOT EXISTS {TABLE} (
  link_id UUID, millis UInt64, id UInt64,
  kind String, referrer String, device String, country String
) ENGINE = ReplacingMergeTree()
PARTITION BY toYYYYMM(toDateTime(intDiv(millis, 1000), 'UTC'))
ORDER BY (link_id, millis, id)
"""
_EXISTS = f"EXISTS TABLE {TABLE}"
_MONTHS = f"""
SELECT DISTINCT partition FROM system.parts
WHERE active AND database = currentDatabase() AND table = '{TABLE}'"""  # noqa: S608
_MONTH = re.compile(r"(\d{4})(\d\d)")


def create() -> bool:
    if exists():
        return False
    clickhouse.execute(CREATE)
    return True


def exists() -> bool:
    return bool(clickhouse.read(_EXISTS)[0]["result"])


def drop_old_months() -> int:
    """Drops the months whose last click is older than RAW_RETENTION days; returns their number."""
    oldest = (timezone.now() - timedelta(days=settings.RAW_RETENTION)).date()
    matches = [_MONTH.fullmatch(str(row["partition"])) for row in clickhouse.read(_MONTHS)]
    months = [parse_month("-".join(month.groups())) for month in matches if month]
    old = [month for month in months if next_month(month) <= oldest]
    for month in old:
        clickhouse.execute(f"ALTER TABLE {TABLE} DROP PARTITION {month:%Y%m}")
    return len(old)


def uuid(value: UUID) -> str:
    return f"toUUID('{value}')"


# The time since which ClickHouse has every click: the creation of its group, or a loss of older
# clicks. Stored in Redis next to the stream, so that both are lost together; without it nothing is
# complete.
_SINCE = "clicks:clickhouse-since"
_REPORTED = "clicks:clickhouse-loss"
KEYS = (_SINCE, _REPORTED)
REPORT_PAUSE = 600  # seconds


def count_as_complete() -> None:
    """Marks the table as complete from now on."""
    blocking_redis_client().set(_SINCE, time.time())


def record_loss(until: float) -> None:
    """Records that clicks earlier than `until`, in Unix seconds, may be missing."""
    redis = blocking_redis_client()
    redis.set(_SINCE, max(until, float(redis.get(_SINCE) or 0)))
    if redis.set(_REPORTED, 1, nx=True, ex=REPORT_PAUSE):
        until_text = datetime.fromtimestamp(until, UTC).isoformat()
        log.error("clicks_missing_in_clickhouse", until=until_text)


def complete_since() -> datetime | None:
    """The time since which the table is complete; raises RedisError."""
    since = redis_client().get(_SINCE)
    return datetime.fromtimestamp(float(since), UTC) if since else None
