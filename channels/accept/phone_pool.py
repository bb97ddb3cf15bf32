"""Replays the shared pool of sends to one phone from the sends, as Redis would keep it. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from accounts.api.atomic_limits import Bucket, Pool

DAY = 86_400.0


class Draw(NamedTuple):
    company_id: int
    at: float  # seconds, of any clock


class _BucketLevel:
    """A bucket as the time at which it is full again, as in `accounts.api.atomic_limits`."""

    def __init__(self, bucket: Bucket) -> None:
        self.interval = bucket.interval / 1000
        self.capacity = self.interval * bucket.size
        self.full_at = float("-inf")

    def wait(self, at: float) -> float:
        return max(0.0, max(self.full_at, at) + self.interval - at - self.capacity)

    def take(self, at: float) -> None:
        # A send cannot overdraw the bucket, even if it was counted while Redis had lost others.
        self.full_at = min(max(self.full_at, at) + self.interval, at + self.capacity)


def wait(pool: Pool, sent: Sequence[Draw], draw: Draw) -> float:
    """Seconds until the pool would grant `draw`, after the sends in `sent`, oldest first."""
    shared, reserve = _BucketLevel(pool.shared), _BucketLevel(pool.reserve)
    for number, past in enumerate(sent):
        is_first = _is_first(pool, sent[:number], past)
        is_reserved = shared.wait(past.at) > 0 and is_first and not reserve.wait(past.at)
        (reserve if is_reserved else shared).take(past.at)
    left = shared.wait(draw.at)
    return min(left, reserve.wait(draw.at)) if _is_first(pool, sent, draw) else left


def _is_first(pool: Pool, sent: Sequence[Draw], draw: Draw) -> bool:
    """Whether this is one of the company's first sends of the day."""
    own = sum(past.company_id == draw.company_id and past.at > draw.at - DAY for past in sent)
    return own < pool.firsts
