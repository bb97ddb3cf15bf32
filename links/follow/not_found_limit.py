"""Limits how often a visitor may request links that do not exist: guessing slugs ends in 429.

Links that exist are never counted or limited, since a carrier's customers share one address. Each
process counts misses and flushes them to Redis once a second; before it refuses a visitor it asks
Redis for the sum of all processes. So a miss needs no round trip, and until the next flush each
process may let another budget pass. Nothing is limited while Redis is away.
"""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from redis.exceptions import RedisError

from processes.process_state import on_reset
from processes.server.client_ip import client_ip, client_network
from storage.atomic_limits import hashed
from storage.redis_client import BackOff, redis_client

FLUSH_INTERVAL = 1.0  # seconds
MAX_VISITORS = 50_000  # counted in a process at once


@dataclass(slots=True)
class _Count:
    until: float  # by the steady clock of this process; then the visitor is forgotten
    unsent: int = 0
    total: int = 0  # all processes' misses, when Redis was last asked
    is_confirmed: bool = False  # `total` is above the limit


class MissCounter:
    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """A forked child inherits no thread, and counts that its parent flushes."""
        self._counts: dict[str, _Count] = {}
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._is_started = False
        self._back_off = BackOff()

    def count_miss(self, environ: Mapping[str, Any]) -> int:
        """Counts a miss; returns the seconds to wait when the visitor is over the limit, else 0."""
        visitor = client_network(client_ip(environ))
        if not visitor:
            return 0
        key = f"misses:{hashed(visitor)}"
        limit, seconds = settings.LINK_MISS_LIMIT
        now = time.monotonic()
        with self._lock:
            count = self._counts.get(key)
            if count is None or count.until <= now:
                count = self._begin(key, now + seconds)
            count.unsent += 1
            is_over = count.total + count.unsent > limit
        if not is_over or not (count.is_confirmed or self._is_over(key, limit)):
            return 0
        return max(1, round(count.until - now))

    def _begin(self, key: str, until: float) -> _Count:
        if len(self._counts) >= MAX_VISITORS:
            self._counts.clear()
        if not self._is_started:
            self._is_started = True
            threading.Thread(target=self._run, name="misses", daemon=True).start()
        count = self._counts[key] = _Count(until)
        return count

    def _is_over(self, key: str, limit: int) -> bool:
        if self._back_off.is_active or not self.flush([key]):
            return False
        count = self._counts.get(key)
        return count is not None and count.total > limit

    def _run(self) -> None:
        while True:
            time.sleep(FLUSH_INTERVAL)
            now = time.monotonic()
            with self._lock:
                counts = self._counts.items()
                self._counts = {key: count for key, count in counts if count.until > now}
                unsent = [key for key, count in self._counts.items() if count.unsent]
            if unsent and not self._back_off.is_active:
                self.flush(unsent)

    def flush(self, keys: list[str]) -> bool:
        """Adds unsent counts to Redis and reads the sums; returns False when Redis is away."""
        with self._flushing:
            with self._lock:
                known = {key: count for key in keys if (count := self._counts.get(key))}
                sent = {key: count.unsent for key, count in known.items()}
                for count in known.values():
                    count.total, count.unsent = count.total + count.unsent, 0
            try:
                sums = self._add(sent)
            except (RedisError, OSError):
                self._back_off.start()
                self._restore(known, sent)
                return False
            limit, now = settings.LINK_MISS_LIMIT[0], time.monotonic()
            for count, (total, left) in zip(known.values(), sums, strict=True):
                count.total, count.until = total, now + left / 1000
                count.is_confirmed = total > limit
            return True

    def _restore(self, known: dict[str, _Count], sent: dict[str, int]) -> None:
        with self._lock:
            for key, count in known.items():
                count.total, count.unsent = count.total - sent[key], count.unsent + sent[key]

    def _add(self, sent: dict[str, int]) -> list[tuple[int, int]]:
        """Returns each key's misses in all processes, and the milliseconds left of its window."""
        with redis_client().pipeline(transaction=False) as pipe:
            for key, number in sent.items():
                pipe.set(key, 0, px=settings.LINK_MISS_LIMIT[1] * 1000, nx=True)
                pipe.incrby(key, number)
                pipe.pttl(key)
            answers: list[Any] = pipe.execute()
        return list(zip(answers[1::3], answers[2::3], strict=True))


_misses = MissCounter()
on_reset(_misses.reset)
count_miss, reset = _misses.count_miss, _misses.reset
