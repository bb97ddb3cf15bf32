"""The pool of sends to one phone, worked out from the sends themselves: as Redis keeps it. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from accounts.api.atomic_limits import Bucket, Pool

DAY = 86_400.0


class Draw(NamedTuple):
    company_id: int
    at: float  # seconds, of any clock


class _BucketLevel:
    """When a bucket is full again, as in `accounts.api.atomic_limits`."""

    def __init__(self, bucket: Bucket) -> None:
        self.place = bucket.interval / 1000
        self.room = self.place * bucket.size
        self.full_at = float("-inf")

    def wait(self, at: float) -> float:
        return max(0.0, max(self.full_at, at) + self.place - at - self.room)

    def take(self, at: float) -> None:
        # No send overdraws it, even one that was counted while Redis had forgotten others.
        self.full_at = min(max(self.full_at, at) + self.place, at + self.room)


def wait(pool: Pool, sent: Sequence[Draw], draw: Draw) -> float:
    """Seconds until `draw` would find a place after what was `sent`, in the order of time."""
    shared, reserve = _BucketLevel(pool.shared), _BucketLevel(pool.reserve)
    for number, one in enumerate(sent):
        is_first = _is_first(pool, sent[:number], one)
        is_reserved = shared.wait(one.at) > 0 and is_first and not reserve.wait(one.at)
        (reserve if is_reserved else shared).take(one.at)
    left = shared.wait(draw.at)
    return min(left, reserve.wait(draw.at)) if _is_first(pool, sent, draw) else left


def _is_first(pool: Pool, sent: Sequence[Draw], draw: Draw) -> bool:
    """One of the company's first sends in a day."""
    own = sum(one.company_id == draw.company_id and one.at > draw.at - DAY for one in sent)
    return own < pool.firsts
