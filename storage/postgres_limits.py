"""Counts limits in PostgreSQL, exactly and without Redis, in which `atomic_limits` counts."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from storage.atomic_limits import Bucket, Pool
from storage.statements import sql_files
from storage.statements.queries import execute

_TAKE = sql_files.read("storage/postgres_limits.sql")


def count_in_postgres(key: str, *, limit: int, end: datetime, count: int = 1) -> bool:
    """Adds `count` to the key's sum until `end`, unless that would exceed `limit`.

    Returns whether it was added. One statement on the cache table is exact under concurrent
    requests.
    """
    params: dict[str, str | int | datetime]
    params = {"key": key, "count": count, "limit": limit, "end": end}
    return execute(_TAKE, params) > 0


def end_of_utc_day(now: datetime) -> datetime:
    """The next midnight of a time in UTC."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


DAY = 86_400.0


class PoolUse(NamedTuple):
    company_id: int
    at: float  # seconds, of any clock


class _BucketLevel:
    """A bucket, as the time at which it is full again, as in `storage.atomic_limits`."""

    def __init__(self, bucket: Bucket) -> None:
        self.interval = bucket.interval / 1000
        self.capacity = self.interval * bucket.size
        self.full_at = float("-inf")

    def wait(self, at: float) -> float:
        return max(0.0, max(self.full_at, at) + self.interval - at - self.capacity)

    def take(self, at: float) -> None:
        # A send cannot overdraw the bucket, even if it was counted while Redis had lost others.
        self.full_at = min(max(self.full_at, at) + self.interval, at + self.capacity)


def pool_wait(pool: Pool, uses: Sequence[PoolUse], use: PoolUse) -> float:
    """Seconds until the pool would grant `use`, after the sends in `sent`, oldest first."""
    shared = _BucketLevel(pool.shared)
    reserve = _BucketLevel(pool.reserve)
    for number, past in enumerate(uses):
        is_first = _is_first(pool, uses[:number], past)
        is_reserved = shared.wait(past.at) > 0 and is_first and not reserve.wait(past.at)
        (reserve if is_reserved else shared).take(past.at)
    wait = shared.wait(use.at)
    return min(wait, reserve.wait(use.at)) if _is_first(pool, uses, use) else wait


def _is_first(pool: Pool, uses: Sequence[PoolUse], use: PoolUse) -> bool:
    """Whether this is one of the company's first sends of the day."""
    sends = sum(past.company_id == use.company_id and past.at > use.at - DAY for past in uses)
    return sends < pool.reserved_sends
