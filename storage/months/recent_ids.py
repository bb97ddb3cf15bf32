"""Writes the months whose partitions a statement may need into its text.

PostgreSQL then plans for these partitions only, and opens neither those created ahead of time nor
years of history. Parameters would not help: in a generic plan PostgreSQL assumes that any range
matches 0.5 % of a table, and may prefer that range to the index for a single row.
"""

import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from catalogue.ids import first_id_at
from storage.months.calendar import next_month

_CLOCK_SKEW = timedelta(days=3)  # among the processes that make the ids
_SECONDS_OF_DAY = 86_400
_MILLISECOND_BITS = 80  # of an id, right of its time


class Months(NamedTuple):
    """A range of months: `end` is the beginning of the month after the last."""

    start: datetime
    end: datetime


class IdRange(NamedTuple):
    """A range that includes both ends, like BETWEEN."""

    first_id: UUID
    last_id: UUID


def months_of_last(days: int) -> Months:
    return _months_of_last(days, _day())


def months_of(ids: Iterable[UUID]) -> Months:
    """The months in which these ids were made; there is at least one."""
    listed_ids = list(ids)
    return Months(_made_in(min(listed_ids)), next_month(_made_in(max(listed_ids))))


@lru_cache(maxsize=1024)
def limit_to_months(statement: str, months: Months) -> str:
    """The statement with these months in place of `:first_id`, `:last_id`, `:start` and `:end`."""
    texts = ids_of(months)._asdict() | {
        name: at.isoformat() for name, at in months._asdict().items()
    }
    for name, text in texts.items():
        statement = statement.replace(f":{name}", f"'{text}'")
    return statement


def _day() -> int:
    """Days since 1970, in UTC as the months of the tables are."""
    return int(time.time()) // _SECONDS_OF_DAY


@lru_cache(maxsize=8)
def _months_of_last(days: int, today: int) -> Months:
    now = datetime.fromtimestamp(today * _SECONDS_OF_DAY, UTC)
    last = (now + timedelta(days=1) + _CLOCK_SKEW).replace(day=1)
    return Months((now - timedelta(days=days)).replace(day=1), next_month(last))


@lru_cache(maxsize=64)
def ids_of(months: Months) -> IdRange:
    return IdRange(first_id_at(months.start), UUID(int=first_id_at(months.end).int - 1))


def _made_in(uuid: UUID) -> datetime:
    at = datetime.fromtimestamp((uuid.int >> _MILLISECOND_BITS) / 1000, UTC)
    return at.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
