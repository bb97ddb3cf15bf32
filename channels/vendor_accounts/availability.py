"""Which accounts take messages now, as far as this process knows: a second old at most.

Read beside requests, never in one; until then every configured account is a good one. What is
known here spares questions. Which account carries a message the claim alone decides, by the rows.
"""

import threading
import time
from dataclasses import dataclass

import structlog
from django.db import connection

from channels.providers.base import Channel, Content
from channels.vendor_accounts import registry

log = structlog.get_logger(__name__)
REFRESH_INTERVAL = 0.8
HEARTBEAT_TIMEOUT = 20.0  # seconds: four heartbeats
SHORT_PAUSE = 10.0  # seconds: a pause so short is waited out by the message, not told to its sender

_READ_ACCOUNTS = """
SELECT name, is_enabled AND COALESCE(open_until, now()) <= now() + make_interval(secs => %s),
  prefixes, open_until IS NOT NULL OR max_per_second IS NOT NULL
FROM channels_provideraccount
"""


_READ_BOUND = """
SELECT DISTINCT kind FROM channels_heartbeat
WHERE kind = ANY(%s) AND (facts->>'bound')::int > 0 AND at > now() - make_interval(secs => %s)
"""


@dataclass(frozen=True, slots=True)
class AccountSnapshot:
    shut: frozenset[str] = frozenset()  # switched off, or their breaker is open
    prefixes: tuple[tuple[str, tuple[str, ...]], ...] = ()  # of accounts that have some
    is_any_counted: bool = False  # by a rate, or by the probe of its breaker
    unbound: frozenset[str] = frozenset()  # hosted, and their process has no connection
    read_at: float = -REFRESH_INTERVAL  # by this process's steady clock

    def takes(self, provider: str, phone: str) -> bool:
        if provider in self.shut:
            return False
        wanted = next((some for name, some in self.prefixes if name == provider), ())
        return not (phone and wanted) or phone.startswith(wanted)


class _Cache:
    known = AccountSnapshot()


_cache = _Cache()


def has_account(channel: Channel, content: Content, mode: str, phone: str = "") -> bool:
    """Whether some account would carry this, to this phone if one is given."""
    ways = registry.routes_by_key().get((mode, channel.value, content.value), [])
    return any(_cache.known.takes(way.provider, phone) for way in ways)


def has_alternative(provider: str, content: Content, mode: str, phone: str) -> bool:
    """Whether another account of its channel would take this, now or after a short pause."""
    channel = registry.provider(provider).channel
    ways = registry.routes_by_key().get((mode, channel.value, content.value), [])
    return any(
        way.provider != provider
        and not way.needs_contact
        and _cache.known.takes(way.provider, phone)
        for way in ways
    )


def unbound_accounts() -> frozenset[str]:
    """Hosted accounts that would keep a message waiting; known as of `is_any_counted`."""
    return _cache.known.unbound


def is_any_limited() -> bool:
    """For who claims: asks now and then, in its own time."""
    if time.monotonic() - _cache.known.read_at >= REFRESH_INTERVAL:
        refresh()
    return _cache.known.is_any_counted


def refresh() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_READ_ACCOUNTS, [SHORT_PAUSE])
        rows = cursor.fetchall()
        hosted = registry.hosted_providers().keys()
        bound = set[str]()
        if hosted:
            cursor.execute(_READ_BOUND, [list(hosted), HEARTBEAT_TIMEOUT])
            bound = {name for (name,) in cursor.fetchall()}
    _cache.known = AccountSnapshot(
        frozenset(name for name, takes, _, _ in rows if not takes),
        tuple((name, tuple(prefixes)) for name, _, prefixes, _ in rows if prefixes),
        any(is_counted for *_, is_counted in rows),
        frozenset(hosted - bound),
        time.monotonic(),
    )


def start_refreshing() -> None:
    """For web processes."""
    threading.Thread(target=_refresh_forever, name="availability", daemon=True).start()


def _refresh_forever() -> None:
    while True:
        try:
            refresh()
        except Exception as error:  # the thread's edge; what was known last still holds
            log.warning("availability_not_refreshed", error=type(error).__name__)
        connection.close()
        time.sleep(REFRESH_INTERVAL)


def reset() -> None:
    """As a process that has just been started, for tests."""
    _cache.known = AccountSnapshot()
