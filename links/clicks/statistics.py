"""Click statistics of a link: by day, by hour, and by referrer, device and country.

Days come from counts that are kept for ever; the rest comes from the clicks themselves, which are
kept RAW_RETENTION days.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils import timezone

from links.models import ClickDay, Link

BREAKDOWN_SIZE = 10  # of a breakdown
MAX_DAYS, MAX_HOURS = 366, 24 * 31  # the longest series

_HOURS = """
SELECT date_trunc('hour', at) AS hour, count(*) FILTER (WHERE kind = 'person'),
  count(*) FILTER (WHERE kind IN ('preview', 'prefetch', 'probe')),
  count(*) FILTER (WHERE kind = 'scanner')
FROM links_click WHERE link_id = %s AND at >= %s AND at < %s GROUP BY 1
"""

# One pass for the three; `GROUPING` says which of them a row belongs to.
_VISITORS = """
SELECT GROUPING(referrer), GROUPING(device), COALESCE(referrer, device, country), count(*)
FROM links_click WHERE link_id = %s AND kind = 'person' AND at >= %s AND at < %s
GROUP BY GROUPING SETS ((referrer), (device), (country)) ORDER BY 4 DESC, 3
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
    found = {row.day: row for row in rows}
    points = []
    for n in range((last - first).days + 1):
        day = first + timedelta(days=n)
        row = found.get(day)
        counts = (row.clicks, row.previews, row.scanners) if row else (0, 0, 0)
        points.append(Point(midnight(day), *counts))
    return points


def by_hour(link: Link, start: datetime, end: datetime) -> list[Point]:
    """A point for every hour of UTC that begins before the end; `start` is a whole one."""
    with connection.cursor() as cursor:
        cursor.execute(_HOURS, [link.pk, start, end])
        found: dict[datetime, Sequence[int]] = {at: counts for at, *counts in cursor.fetchall()}
    hours = range(int((end - start) / timedelta(hours=1)) + 1)
    moments = [start + timedelta(hours=n) for n in hours]
    return [Point(at, *found.get(at, ())) for at in moments if at < end]


def visitors(link: Link, start: datetime, end: datetime) -> Visitors:
    with connection.cursor() as cursor:
        cursor.execute(_VISITORS, [link.pk, start, end])
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    # A column that a row is not grouped by is 1.
    sets = {"referrers": (0, 1), "devices": (1, 0), "countries": (1, 1)}
    found = {
        name: [(value, count) for *grouped, value, count in rows if tuple(grouped) == of][
            :BREAKDOWN_SIZE
        ]
        for name, of in sets.items()
    }
    return Visitors(**found)


def oldest_click() -> datetime:
    """Since when clicks themselves are kept."""
    return timezone.now() - timedelta(days=settings.RAW_RETENTION)


def hour_of(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def midnight(day: date) -> datetime:
    """Where the day of the service's time zone begins."""
    begins = datetime.combine(day, datetime.min.time(), timezone.get_default_timezone())
    return begins.astimezone(UTC)
