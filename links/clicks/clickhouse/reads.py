"""Statistics of a link from ClickHouse, where CLICKHOUSE_READS is on.

Only for periods that it has in full; for others, and when it fails or is late, PostgreSQL answers.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import structlog
from django.conf import settings
from redis.exceptions import RedisError

from links.clicks import stream
from links.clicks.clickhouse import completeness, tables
from links.models import ErasedClicks, Link
from storage import clickhouse
from storage.redis_client import BackOff
from storage.sessions import give_back

log = structlog.get_logger(__name__)

MAX_LAG = 60.0  # seconds
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
HOUR = timedelta(hours=1)

HOURS = f"""
SELECT intDiv(millis, {HOUR // _MS}) AS hour, countIf(kind = 'person') AS clicks,
  countIf(kind IN ('preview', 'prefetch', 'probe')) AS previews,
  countIf(kind = 'scanner') AS scanners
FROM {tables.TABLE} FINAL WHERE {{period}} GROUP BY hour"""  # noqa: S608

# Several columns by one pass, as GROUPING SETS are not in 18.16.
VISITORS = f"""
SELECT breakdown, name, count() AS clicks
FROM (SELECT referrer, device, country FROM {tables.TABLE} FINAL
      WHERE {{period}} AND kind = 'person')
ARRAY JOIN ['referrers', 'devices', 'countries'] AS breakdown,
           [referrer, device, country] AS name
GROUP BY breakdown, name ORDER BY clicks DESC, name LIMIT {{size}} BY breakdown"""  # noqa: S608


class HourCount(NamedTuple):
    """The clicks of the hour that begins at `at`."""

    at: datetime
    clicks: int
    previews: int
    scanners: int


class VisitorCount(NamedTuple):
    breakdown: str
    name: str
    clicks: int


class _Pause(BackOff):
    """Pages do not wait for a server that has just failed."""

    SECONDS = 30.0


_pause = _Pause()


def by_hour(link: Link, start: datetime, end: datetime) -> list[HourCount] | None:
    """The hours with clicks; None where PostgreSQL must answer."""
    rows = _ask(HOURS.format(period=_period(link, start, end)), link, start)
    return rows if rows is None else [_hour_count(row) for row in rows]


def visitors(link: Link, start: datetime, end: datetime, size: int) -> list[VisitorCount] | None:
    """The first `size` of each breakdown; None where PostgreSQL must answer."""
    query = VISITORS.format(period=_period(link, start, end), size=size)
    rows = _ask(query, link, start)
    if rows is None:
        return None
    return [VisitorCount(row["breakdown"], row["name"], int(row["clicks"])) for row in rows]


def _ask(query: str, link: Link, start: datetime) -> list[dict[str, Any]] | None:
    if not settings.CLICKHOUSE_READS or _pause.is_active or not _has_all_clicks(link, start):
        return None
    give_back()
    try:
        return clickhouse.read(query)
    except clickhouse.ClickHouseError as error:
        _pause.start()
        log.warning("clickhouse_not_read", error=f"{type(error).__name__}: {error}")
        return None


def _has_all_clicks(link: Link, start: datetime) -> bool:
    """No click is older than its link. One that was erased may still be there for a while."""
    try:
        since, lag = completeness.complete_since(), stream.sink_lag_seconds()
    except (RedisError, OSError):
        return False
    if since is None or lag is None or lag > MAX_LAG or since > max(start, link.created_at):
        return False
    return not ErasedClicks.objects.filter(link_id=link.pk).exists()


def _period(link: Link, start: datetime, end: datetime) -> str:
    first, last = (-((_EPOCH - moment) // _MS) for moment in (start, end))  # rounded up
    return f"link_id = {tables.uuid(link.pk)} AND millis >= {first} AND millis < {last}"


def _hour_count(row: dict[str, Any]) -> HourCount:
    counts = (int(row[name]) for name in ("clicks", "previews", "scanners"))
    return HourCount(_EPOCH + int(row["hour"]) * HOUR, *counts)
