"""The request rate limit of API keys, and the daily quotas of test keys.

django-ratelimit counts; processes lease a hundredth of the limit at a time, so most requests need
no Redis call; limits up to a hundred are counted one by one. Never more requests than the limit
pass, and each process leaves at most one lease unused.
"""

import threading
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

import redis
import structlog
from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django_ratelimit.core import get_usage

from accounts.keys.principal import Principal
from catalogue.errors import DomainError, Error
from processes.process_state import on_reset
from storage.postgres_limits import count_in_postgres
from storage.redis_client import BackOff

log = structlog.get_logger(__name__)

LEASES_PER_LIMIT = 100
MAX_KEYS = 10_000
SKEW = 1  # seconds: the limiter's clock and ours are read one after the other

_USED_UP = {
    "links": _("A company's test keys make at most {max} links a day"),
    "messages": _("A company's test keys make at most {max} messages a day"),
    "changes": _("A company's test keys change, delete or export at most {max} times a day"),
    "keys": _("A company's test keys use at most {max} values of Idempotency-Key a day"),
}


class Usage(NamedTuple):
    limit: int
    left: int  # below zero: this request is one too many
    wait: int  # seconds to the next window


@dataclass(slots=True)
class _Window:
    """The window of one key."""

    limit: int
    ends_at: int  # Unix seconds
    leased: int = 0  # requests of this process's lease that are left
    unleased: int = 0  # requests that no process had leased at the last Redis call

    def take(self, now: int) -> Usage:
        self.leased -= 1
        return Usage(self.limit, self.leased + self.unleased, max(1, self.ends_at - now))


class KeyRateLimiter:
    """Holds the windows of one process."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._windows: dict[int, _Window] = {}
        self._lock = threading.Lock()
        self._back_off = BackOff()

    def count(self, request: HttpRequest, principal: Principal) -> Usage | None:
        """Counts this request; None while Redis is unavailable."""
        limit, seconds = principal.api_rate or settings.API_RATE[0], settings.API_RATE[1]
        now = int(time.time())
        with self._lock:
            window = self._windows.get(principal.key_id)
            if window and window.limit == limit and now <= window.ends_at:
                if window.leased > 0:
                    return window.take(now)
                if not window.unleased:
                    return Usage(limit, -1, max(1, window.ends_at - now))
        return self._lease(request, principal.key_id, limit, seconds)

    def _lease(self, request: HttpRequest, key_id: int, limit: int, seconds: int) -> Usage | None:
        size = max(1, limit // LEASES_PER_LIMIT)
        count = -(-limit // size)
        usage = self._ask(request, key_id, f"{count}/{seconds}s")
        if usage is None:
            return None
        number, now = usage["count"], int(time.time())
        window = _Window(limit, now + usage["time_left"])
        if number <= count:
            window.leased = min(size, limit - size * (number - 1))
            window.unleased = max(0, limit - size * number)
        with self._lock:
            window = self._add_lease(key_id, window)
            if window.leased > 0:
                return window.take(now)
            if not window.unleased:
                return Usage(limit, -1, max(1, window.ends_at - now))
        # The lease is of the previous window, and other threads have used up theirs of this one.
        return self._lease(request, key_id, limit, seconds)

    def _add_lease(self, key_id: int, window: _Window) -> _Window:
        """Adds the lease to the key's window; returns it, or a later one that other threads use."""
        cached = self._windows.get(key_id)
        if cached and cached.limit == window.limit and cached.ends_at >= window.ends_at - SKEW:
            if cached.ends_at <= window.ends_at + SKEW:
                cached.ends_at = min(cached.ends_at, window.ends_at)
                cached.leased += window.leased
                cached.unleased = min(cached.unleased, window.unleased)
            return cached
        if len(self._windows) >= MAX_KEYS:
            self._windows.clear()
        self._windows[key_id] = window
        return window

    def _ask(self, request: HttpRequest, key_id: int, rate: str) -> dict[str, Any] | None:
        if self._back_off.is_active:
            return None
        try:
            usage: dict[str, Any] | None = get_usage(  # type: ignore[no-untyped-call]
                request,
                group="api",
                key=lambda _group, _request: str(key_id),
                rate=rate,
                increment=True,
            )
        except redis.RedisError as error:
            self._back_off.start()
            log.warning("rate_limiter_unavailable", error=type(error).__name__)
            return None
        return usage


key_rate_limiter = KeyRateLimiter()
on_reset(key_rate_limiter.reset)


def consume_test_quota(company_id: int, quota: str, count: int = 1) -> None:
    """Adds `count` to today's usage (UTC); raises `rate_limited` and counts nothing when over.

    Test keys are free and so have no other bound.
    """
    now = timezone.now()
    end = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    most = settings.TEST_QUOTAS[quota]
    key = f"quota:test:{quota}:{company_id}:{now:%Y%m%d}"
    if count_in_postgres(key, most=most, end=end, count=count):
        return
    raise DomainError(
        Error.RATE_LIMITED,
        message=format_lazy(_USED_UP[quota], max=most),
        retry_after=max(1, int((end - now).total_seconds()) + 1),
    )
