"""Months of the calendar, each as its first day.

A time's month depends on the time zone, so callers name one: partitions and seals use UTC,
documents the service's zone.
"""

from datetime import date, datetime, timedelta, tzinfo
from typing import TypeVar

D = TypeVar("D", bound=date)  # a datetime stays one, at the same hour


def month_of(at: datetime, zone: tzinfo) -> date:
    return at.astimezone(zone).date().replace(day=1)


def next_month(day: D) -> D:
    return (day.replace(day=1) + timedelta(days=31)).replace(day=1)


def previous_month(day: D) -> D:
    return (day.replace(day=1) - timedelta(days=1)).replace(day=1)


def last_day(month: date) -> date:
    return next_month(month) - timedelta(days=1)


def parse_month(text: str) -> date:
    """Reads `YYYY-MM`."""
    return date.fromisoformat(f"{text}-01")
