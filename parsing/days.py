"""Parses days and times from outside, and formats times for tables.

They are within years in which a change of time zone cannot overflow.
"""

from datetime import UTC, date, datetime, time, tzinfo

from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

FIRST_DAY = date(1970, 1, 1)
LAST_DAY = date(2199, 12, 31)
_FIRST = datetime.combine(FIRST_DAY, time.min, UTC)
_LAST = datetime.combine(LAST_DAY, time.max, UTC)


def parse_moment(text: str) -> datetime | None:
    """A time in ISO 8601, or the start of a day; in UTC unless it has a zone.

    A time before 1970 or after 2199 is clamped: as a bound of a list it selects the same rows, and
    programming languages use extreme ones for "no bound" (0001-01-01, 9999-12-31).
    """
    if text.isdigit() and len(text) > len("20260131"):  # Unix time, of which some reads as a year
        return None
    try:
        moment = parse_datetime(text.replace(" ", "+"))  # midnight for a day
        day = None if moment else parse_date(text)  # 2026-1-31
    except ValueError:
        return None
    if moment is None and day is not None:
        moment = datetime.combine(day, time.min)
    if moment is None:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max(aware, _FIRST), _LAST)


def as_bound(day: date) -> date:
    """The day as a bound of a list, see `parse_moment`."""
    return min(max(day, FIRST_DAY), LAST_DAY)


def start_of(day: date, zone: tzinfo | None = None) -> datetime:
    """The midnight at which the day begins, in the current time zone unless one is given."""
    return timezone.make_aware(datetime.combine(day, time.min), zone)


def local_time(at: datetime | None) -> str:
    """The time as spreadsheets read it, `2026-11-29 10:15:30`, in the zone of the page."""
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M:%S}" if at else ""
