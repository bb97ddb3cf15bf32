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
REFRESH_EVERY = 0.8
HEARD_WITHIN = 20.0  # seconds: four heartbeats
PASSING = 10.0  # seconds: a pause so short is waited out by the message, not told to its sender

_READ = """
SELECT name, is_enabled AND COALESCE(open_until, now()) <= now() + make_interval(secs => %s),
  prefixes, open_until IS NOT NULL OR max_per_second IS NOT NULL
FROM channels_provideraccount
"""


_BOUND = """
SELECT DISTINCT kind FROM channels_heartbeat
WHERE kind = ANY(%s) AND (facts->>'bound')::int > 0 AND at > now() - make_interval(secs => %s)
"""


@dataclass(frozen=True, slots=True)
class Known:
    shut: frozenset[str] = frozenset()  # switched off, or their breaker is open
    prefixes: tuple[tuple[str, tuple[str, ...]], ...] = ()  # of accounts that have some
    is_any_counted: bool = False  # by a rate, or by the probe of its breaker
    unbound: frozenset[str] = frozenset()  # hosted, and their process has no connection
    read_at: float = -REFRESH_EVERY  # by this process's steady clock

    def takes(self, provider: str, phone: str) -> bool:
        if provider in self.shut:
            return False
        wanted = next((some for name, some in self.prefixes if name == provider), ())
        return not (phone and wanted) or phone.startswith(wanted)


class _Latest:
    known = Known()


_latest = _Latest()


def has_account(channel: Channel, content: Content, mode: str, phone: str = "") -> bool:
    """Whether some account would carry this, to this phone if one is given."""
    ways = registry.ways().get((mode, channel.value, content.value), [])
    return any(_latest.known.takes(way.provider, phone) for way in ways)


def has_other(provider: str, content: Content, mode: str, phone: str) -> bool:
    """Whether another account of its channel would take this, now or after a short pause."""
    channel = registry.provider(provider).channel
    ways = registry.ways().get((mode, channel.value, content.value), [])
    return any(
        way.provider != provider
        and not way.needs_contact
        and _latest.known.takes(way.provider, phone)
        for way in ways
    )


def unbound() -> frozenset[str]:
    """Hosted accounts that would keep a message waiting; known as of `is_any_counted`."""
    return _latest.known.unbound


def is_any_counted() -> bool:
    """For who claims: asks now and then, in its own time."""
    if time.monotonic() - _latest.known.read_at >= REFRESH_EVERY:
        refresh()
    return _latest.known.is_any_counted


def refresh() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_READ, [PASSING])
        rows = cursor.fetchall()
        hosted = registry.hosted().keys()
        bound = set[str]()
        if hosted:
            cursor.execute(_BOUND, [list(hosted), HEARD_WITHIN])
            bound = {name for (name,) in cursor.fetchall()}
    _latest.known = Known(
        frozenset(name for name, takes, _, _ in rows if not takes),
        tuple((name, tuple(prefixes)) for name, _, prefixes, _ in rows if prefixes),
        any(is_counted for *_, is_counted in rows),
        frozenset(hosted - bound),
        time.monotonic(),
    )


def keep_fresh() -> None:
    """For web processes."""
    threading.Thread(target=_keep_fresh, name="availability", daemon=True).start()


def _keep_fresh() -> None:
    while True:
        try:
            refresh()
        except Exception as error:  # the thread's edge; what was known last still holds
            log.warning("availability_not_refreshed", error=type(error).__name__)
        connection.close()
        time.sleep(REFRESH_EVERY)


def forget() -> None:
    """As a process that has just been started, for tests."""
    _latest.known = Known()
