"""Between which ids lie the rows that may still change, for statements that find them by another
column.

They are parameters, because PostgreSQL then opens the partitions of these months and no others.
Computed in the statement from `now()` they cost 7 µs a lookup; without an upper bound, the months
made ahead of time are opened as well.
"""

import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from config.ids import first_id_at

_CLOCK_SKEW = timedelta(days=3)  # among the processes that make the ids
_SECONDS_OF_DAY = 86_400


class IdRange(NamedTuple):
    """Both ends belong to it, as with BETWEEN."""

    first_id: UUID
    last_id: UUID


class TimeRange(NamedTuple):
    """The end does not belong to it."""

    start: datetime
    end: datetime


def ids_between(ids: Iterable[UUID]) -> IdRange:
    """From the first to the last of them."""
    ordered = sorted(ids)
    return IdRange(ordered[0], ordered[-1])


def ids_of_last(days: int) -> IdRange:
    """The ids made in the months of these last days."""
    return _ids(days, _day())


def months_of_last(days: int) -> TimeRange:
    """The same for a table whose months go by a time."""
    return _months(days, _day())


def _day() -> int:
    """Days since 1970, in UTC as the months of the tables are."""
    return int(time.time()) // _SECONDS_OF_DAY


@lru_cache(maxsize=8)
def _ids(days: int, today: int) -> IdRange:
    start, end = _months(days, today)
    return IdRange(first_id_at(start), UUID(int=first_id_at(end).int - 1))


@lru_cache(maxsize=8)
def _months(days: int, today: int) -> TimeRange:
    now = datetime.fromtimestamp(today * _SECONDS_OF_DAY, UTC)
    last = (now + timedelta(days=1) + _CLOCK_SKEW).replace(day=1)
    end = (last + timedelta(days=31)).replace(day=1)
    return TimeRange((now - timedelta(days=days)).replace(day=1), end)
