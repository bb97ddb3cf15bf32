"""Limits guesses at slugs on an edge: by visitor, and all together what reaches the origin.

Counted in each process of the edge alone: the replica takes no writes. Links that exist are never
counted, since a carrier's customers share one address.
"""

import threading
import time
from collections.abc import Mapping
from typing import Any

from accounts.client_ip import client_ip, client_network

MAX_VISITORS = 50_000  # counted at once


class VisitorMisses:
    def __init__(self, limit: int, seconds: int) -> None:
        self._limit, self._seconds = limit, seconds
        self._lock = threading.Lock()
        self._counts: dict[str, tuple[float, int]] = {}  # visitor → (when it ends, misses)

    def count_miss(self, environ: Mapping[str, Any]) -> int:
        """Returns the seconds to wait when the visitor is over the limit now, else 0."""
        visitor, now = _visitor(environ), time.monotonic()
        if not visitor:
            return 0
        with self._lock:
            until, misses = self._counts.get(visitor, (0.0, 0))
            if until <= now:
                self._make_room(now)
                until, misses = now + self._seconds, 0
            self._counts[visitor] = until, misses + 1
        return max(1, round(until - now)) if misses >= self._limit else 0

    def seconds_to_wait(self, environ: Mapping[str, Any]) -> int:
        """Seconds until this visitor may ask for links that the replica does not know."""
        until, misses = self._counts.get(_visitor(environ), (0.0, 0))
        left = until - time.monotonic()
        return max(1, round(left)) if left > 0 and misses >= self._limit else 0

    def _make_room(self, now: float) -> None:
        if len(self._counts) >= MAX_VISITORS:
            self._counts = {who: seen for who, seen in self._counts.items() if seen[0] > now}
        if len(self._counts) >= MAX_VISITORS:
            self._counts.clear()


class TokenBucket:
    """Of what may be asked a second; holds those of two."""

    def __init__(self, per_second: float) -> None:
        self._per_second, self._most = per_second, 2 * per_second
        self._left, self._filled_at = self._most, time.monotonic()
        self._lock = threading.Lock()

    def take(self) -> bool:
        with self._lock:
            now = time.monotonic()
            filled = self._left + (now - self._filled_at) * self._per_second
            self._left, self._filled_at = min(self._most, filled), now
            if self._left < 1:
                return False
            self._left -= 1
            return True

    def give_back(self) -> None:
        """Undoes a `take`."""
        with self._lock:
            self._left += 1


def _visitor(environ: Mapping[str, Any]) -> str:
    return client_network(client_ip(environ))
