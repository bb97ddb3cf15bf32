"""Click statistics of a link: by day, by hour, and by referrer, device and country.

Days come from counts that are kept forever; all else comes from the clicks, which are kept
RAW_RETENTION days. With CLICKHOUSE_READS, ClickHouse answers for periods that it has in full.
PostgreSQL answers for other periods, for days, and if ClickHouse fails or is late.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple, TypeVar

import structlog
from django.conf import settings
from django.utils import timezone
from redis.exceptions import RedisError

from links.clicks import clickhouse_tables, stream
from links.clicks.bot_detection import IS_PREVIEW
from links.models import ClickDay, ErasedClicks, Link
from storage import clickhouse
from storage.heavy_work import HeavyWork
from storage.redis_client import BackOff
from storage.sessions import release_connection
from storage.statements import sql_files
from storage.statements.queries import select

log = structlog.get_logger(__name__)
T = TypeVar("T")
Row = dict[str, Any]

MAX_LAG = 60.0  # seconds
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
HOUR = timedelta(hours=1)

HOURS = f"""
SELECT intDiv(millis, {HOUR // _MS}) AS hour, countIf(kind = 'person') AS clicks,
  countIf({IS_PREVIEW}) AS previews,
  countIf(kind = 'scanner') AS scanners
FROM {clickhouse_tables.TABLE} FINAL WHERE {{period}} GROUP BY hour"""  # noqa: S608

# Aggregates several columns in one pass, because ClickHouse 18.16 lacks GROUPING SETS.
VISITORS = f"""
SELECT breakdown, name, count() AS clicks
FROM (SELECT referrer, device, country FROM {clickhouse_tables.TABLE} FINAL
      WHERE {{period}} AND kind = 'person')
ARRAY JOIN ['referrers', 'devices', 'countries'] AS breakdown,
           [referrer, device, country] AS name
GROUP BY breakdown, name ORDER BY clicks DESC, name LIMIT {{size}} BY breakdown"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class Point:
    """The clicks of the day or hour that begins at `at`."""

    at: datetime
    clicks: int = 0
    previews: int = 0
    scanners: int = 0


@dataclass(frozen=True, slots=True)
class Visitors:
    """Breakdowns as (name, people's clicks), most frequent first; an empty name is unknown."""

    referrers: list[tuple[str, int]]
    devices: list[tuple[str, int]]
    countries: list[tuple[str, int]]


class VisitorCount(NamedTuple):
    breakdown: str
    name: str
    clicks: int


class _Pause(BackOff):
    """A pause after a failure, so that pages do not wait for a server that has just failed."""

    SECONDS = 30.0


_pause = _Pause()


def hours_in_clickhouse(link: Link, start: datetime, end: datetime) -> list[Point] | None:
    """The hours with clicks; None if PostgreSQL must answer."""
    return _ask(HOURS.format(period=_period(link, start, end)), link, start, _point)


def visitors_in_clickhouse(
    link: Link, start: datetime, end: datetime, size: int
) -> list[VisitorCount] | None:
    """The first `size` of each breakdown; None if PostgreSQL must answer."""
    query = VISITORS.format(period=_period(link, start, end), size=size)
    return _ask(query, link, start, _visitor_count)


def _ask(query: str, link: Link, start: datetime, parse: Callable[[Row], T]) -> list[T] | None:
    if not settings.CLICKHOUSE_READS or _pause.is_active or not _has_all_clicks(link, start):
        return None
    release_connection()
    try:
        return [parse(row) for row in clickhouse.read(query)]
    except (clickhouse.ClickHouseError, LookupError, ValueError, TypeError) as error:
        _pause.start()
        log.warning("clickhouse_not_read", error=f"{type(error).__name__}: {error}")
        return None


def _has_all_clicks(link: Link, start: datetime) -> bool:
    """Whether ClickHouse has exactly the link's clicks since `start`.

    No click is older than its link; erased clicks may remain for a while.
    """
    try:
        since = clickhouse_tables.complete_since()
        lag = stream.sink_lag_seconds()
    except (RedisError, OSError):
        return False
    if since is None or lag is None or lag > MAX_LAG or since > max(start, link.created_at):
        return False
    return not ErasedClicks.objects.filter(link_id=link.pk).exists()


def _period(link: Link, start: datetime, end: datetime) -> str:
    first, last = (-((_EPOCH - moment) // _MS) for moment in (start, end))  # rounded up
    return f"link_id = {clickhouse_tables.uuid(link.pk)} AND millis >= {first} AND millis < {last}"


def _visitor_count(row: Row) -> VisitorCount:
    return VisitorCount(row["breakdown"], row["name"], int(row["clicks"]))


def _point(row: Row) -> Point:
    counts = (int(row[name]) for name in ("clicks", "previews", "scanners"))
    return Point(_EPOCH + int(row["hour"]) * HOUR, *counts)


MAX_CLICKS_AT_ONCE = 20_000  # of a link
# Ten seconds for some millions, which anybody can make by opening a link in a loop.
COUNTING = HeavyWork("clicks counted", limit=1)

BREAKDOWN_SIZE = 10  # rows of a breakdown
# Points of the longest series.
MAX_DAYS = 366
MAX_HOURS = 24 * 31

_SQL = sql_files.read_several("links/clicks/statistics.sql", is_preview=IS_PREVIEW)


def reading_turn(link: Link) -> AbstractContextManager[None]:
    """A lock for readers of a link's clicks: reads of many clicks are serialised."""
    is_long = link.clicks + link.previews + link.scanners > MAX_CLICKS_AT_ONCE
    return COUNTING.turn(link.company_id) if is_long else nullcontext()


def by_day(link: Link, first: date, last: date) -> list[Point]:
    """A point for every day of the cabinet's calendar, including empty days."""
    rows = ClickDay.objects.filter(link=link, day__gte=first, day__lte=last)
    by_date = {row.day: row for row in rows}
    points = []
    for offset in range((last - first).days + 1):
        day = first + timedelta(days=offset)
        row = by_date.get(day)
        counts = (row.clicks, row.previews, row.scanners) if row else (0, 0, 0)
        points.append(Point(midnight(day), *counts))
    return points


def by_hour(link: Link, start: datetime, end: datetime) -> list[Point]:
    """A point for every hour of UTC that begins before the end; `start` is a whole hour."""
    points = {point.at: point for point in _hours(link, start, end)}
    hours = range(int((end - start) / timedelta(hours=1)) + 1)
    moments = [start + timedelta(hours=hour) for hour in hours]
    return [points.get(at) or Point(at) for at in moments if at < end]


def _hours(link: Link, start: datetime, end: datetime) -> list[Point]:
    if (points := hours_in_clickhouse(link, start, end)) is not None:
        return points
    with reading_turn(link):
        return select(Point, _SQL["hours"], [link.pk, start, end])


def visitors(link: Link, start: datetime, end: datetime) -> Visitors:
    rows = visitors_in_clickhouse(link, start, end, BREAKDOWN_SIZE)
    if rows is None:
        rows = _visitors(link, start, end)
    visitors: dict[str, list[tuple[str, int]]] = {"referrers": [], "devices": [], "countries": []}
    for row in rows:
        visitors[row.breakdown].append((row.name, row.clicks))
    return Visitors(**{name: pairs[:BREAKDOWN_SIZE] for name, pairs in visitors.items()})


def _visitors(link: Link, start: datetime, end: datetime) -> list[VisitorCount]:
    with reading_turn(link):
        return select(VisitorCount, _SQL["visitors"], [link.pk, start, end])


def oldest_click() -> datetime:
    return timezone.now() - timedelta(days=settings.RAW_RETENTION)


def hour_of(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def midnight(day: date) -> datetime:
    """The beginning of the day in the service's time zone."""
    begins = datetime.combine(day, datetime.min.time(), timezone.get_default_timezone())
    return begins.astimezone(UTC)
