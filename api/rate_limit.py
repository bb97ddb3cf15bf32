"""The request rate limit of API keys, and the daily quotas of test keys.

Redis counts fixed windows; processes lease a hundredth of the limit at a time, so most requests
need no Redis call; limits up to a hundred are counted one by one. Never more requests than the
limit pass, and each process leaves at most one lease unused.
"""

import threading
import time
from dataclasses import dataclass
from typing import NamedTuple

import redis
import structlog
from django.conf import settings
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal
from catalogue.errors import DomainError, Error
from processes.process_state import on_reset
from storage.postgres_limits import count_in_postgres, end_of_utc_day
from storage.redis_client import BackOff, call_together

log = structlog.get_logger(__name__)

LEASES_PER_LIMIT = 100
MAX_KEYS = 10_000

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
    unleased: int  # requests that no process had leased at the last Redis call
    leased: int = 0  # requests of this process's leases that are left

    def take(self, now: int) -> Usage:
        self.leased -= 1
        return Usage(self.limit, self.leased + self.unleased, self.ends_at - now)


class KeyRateLimiter:
    """Holds the windows of one process."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._windows: dict[int, _Window] = {}
        self._lock = threading.Lock()
        self._back_off = BackOff()

    def count(self, principal: Principal) -> Usage | None:
        """Counts this request; None while Redis is unavailable."""
        key_id = principal.key_id
        limit = principal.api_rate or settings.API_RATE[0]
        seconds = settings.API_RATE[1]
        while True:
            with self._lock:
                now = int(time.time())
                # Keys begin their windows at different seconds.
                ends_at = now + seconds - (now + key_id) % seconds
                window = self._windows.get(key_id)
                if window is None or window.ends_at != ends_at or window.limit != limit:
                    window = self._begin(key_id, limit, ends_at)
                if window.leased > 0:
                    return window.take(now)
                if not window.unleased:
                    return Usage(limit, -1, ends_at - now)
            if not self._lease(key_id, window, seconds):
                return None

    def _begin(self, key_id: int, limit: int, ends_at: int) -> _Window:
        if len(self._windows) >= MAX_KEYS:
            self._windows.clear()
        window = self._windows[key_id] = _Window(limit, ends_at, unleased=limit)
        return window

    def _lease(self, key_id: int, window: _Window, seconds: int) -> bool:
        """Adds a lease to the window; False while Redis is unavailable."""
        if self._back_off.is_active:
            return False
        key = f"rate:{key_id}:{window.limit}:{window.ends_at}"
        try:
            number, _expiry = call_together(("INCR", key), ("EXPIRE", key, seconds + 1))
        except redis.RedisError as error:
            self._back_off.start()
            log.warning("rate_limiter_unavailable", error=type(error).__name__)
            return False
        size = max(1, window.limit // LEASES_PER_LIMIT)
        left = window.limit - size * (number - 1)
        with self._lock:
            window.leased += max(0, min(size, left))
            window.unleased = min(window.unleased, max(0, left - size))
        return True


key_rate_limiter = KeyRateLimiter()
on_reset(key_rate_limiter.reset)


def consume_test_quota(company_id: int, quota: str, count: int = 1) -> None:
    """Adds `count` to today's usage (UTC); raises `rate_limited` instead if the quota is used up.

    Test keys are free and so have no other bound.
    """
    now = timezone.now()
    end = end_of_utc_day(now)
    limit = settings.TEST_QUOTAS[quota]
    key = f"quota:test:{quota}:{company_id}:{now:%Y%m%d}"
    if count_in_postgres(key, limit=limit, end=end, count=count):
        return
    raise DomainError(
        Error.RATE_LIMITED,
        message=format_lazy(_USED_UP[quota], max=limit),
        retry_after=max(1, int((end - now).total_seconds()) + 1),
    )
