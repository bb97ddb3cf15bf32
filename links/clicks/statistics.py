"""Click statistics of a link: by day, by hour, and by referrer, device and country.

Days come from counts that are kept for ever; the rest comes from the clicks themselves, which are
kept RAW_RETENTION days. ClickHouse may answer for these; without it, and for days, PostgreSQL does.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.conf import settings
from django.db import connection
from django.utils import timezone

from links.clicks.clickhouse import reads
from links.clicks.clickhouse.reads import VisitorCount
from links.models import ClickDay, Link
from storage.statements.named_rows import fetch_all

BREAKDOWN_SIZE = 10  # of a breakdown
MAX_DAYS, MAX_HOURS = 366, 24 * 31  # the longest series

_HOURS = """
SELECT date_trunc('hour', at) AS at, count(*) FILTER (WHERE kind = 'person') AS clicks,
  count(*) FILTER (WHERE kind IN ('preview', 'prefetch', 'probe')) AS previews,
  count(*) FILTER (WHERE kind = 'scanner') AS scanners
FROM links_click WHERE link_id = %s AND at >= %s AND at < %s GROUP BY 1
"""

# One pass for the three; `GROUPING` is 0 for the one that a row belongs to.
_VISITORS = """
SELECT CASE WHEN GROUPING(referrer) = 0 THEN 'referrers'
            WHEN GROUPING(device) = 0 THEN 'devices' ELSE 'countries' END AS breakdown,
  COALESCE(referrer, device, country) COLLATE "C" AS name, count(*) AS clicks
FROM links_click WHERE link_id = %s AND kind = 'person' AND at >= %s AND at < %s
GROUP BY GROUPING SETS ((referrer), (device), (country)) ORDER BY clicks DESC, name
"""


@dataclass(frozen=True, slots=True)
class Point:
    """The clicks of the day or the hour that begins at `at`."""

    at: datetime
    clicks: int = 0
    previews: int = 0
    scanners: int = 0


@dataclass(frozen=True, slots=True)
class Visitors:
    """(name, people's clicks), the most frequent first; an empty name is unknown."""

    referrers: list[tuple[str, int]]
    devices: list[tuple[str, int]]
    countries: list[tuple[str, int]]


def by_day(link: Link, first: date, last: date) -> list[Point]:
    """A point for every day of the cabinet's calendar, empty ones too."""
    rows = ClickDay.objects.filter(link=link, day__gte=first, day__lte=last)
    by_date = {row.day: row for row in rows}
    points = []
    for n in range((last - first).days + 1):
        day = first + timedelta(days=n)
        row = by_date.get(day)
        counts = (row.clicks, row.previews, row.scanners) if row else (0, 0, 0)
        points.append(Point(midnight(day), *counts))
    return points


def by_hour(link: Link, start: datetime, end: datetime) -> list[Point]:
    """A point for every hour of UTC that begins before the end; `start` is a whole one."""
    points = {point.at: point for point in _hours(link, start, end)}
    hours = range(int((end - start) / timedelta(hours=1)) + 1)
    moments = [start + timedelta(hours=n) for n in hours]
    return [points.get(at) or Point(at) for at in moments if at < end]


def _hours(link: Link, start: datetime, end: datetime) -> list[Point]:
    if (rows := reads.by_hour(link, start, end)) is not None:
        return [Point(*row) for row in rows]
    with connection.cursor() as cursor:
        cursor.execute(_HOURS, [link.pk, start, end])
        return fetch_all(cursor, Point)


def visitors(link: Link, start: datetime, end: datetime) -> Visitors:
    rows = reads.visitors(link, start, end, BREAKDOWN_SIZE)
    if rows is None:
        rows = _visitors(link, start, end)
    visitors: dict[str, list[tuple[str, int]]] = {"referrers": [], "devices": [], "countries": []}
    for row in rows:
        visitors[row.breakdown].append((row.name, row.clicks))
    return Visitors(**{name: pairs[:BREAKDOWN_SIZE] for name, pairs in visitors.items()})


def _visitors(link: Link, start: datetime, end: datetime) -> list[VisitorCount]:
    with connection.cursor() as cursor:
        cursor.execute(_VISITORS, [link.pk, start, end])
        return fetch_all(cursor, VisitorCount)


def oldest_click() -> datetime:
    """Since when clicks themselves are kept."""
    return timezone.now() - timedelta(days=settings.RAW_RETENTION)


def hour_of(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def midnight(day: date) -> datetime:
    """Where the day of the service's time zone begins."""
    begins = datetime.combine(day, datetime.min.time(), timezone.get_default_timezone())
    return begins.astimezone(UTC)
