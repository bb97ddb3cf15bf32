"""Accounts that take messages now: a process cache of the database, at most a second old.

The same read finds accounts that operators connected. A thread refreshes the cache outside
requests; until the first read every configured account counts as available. The cache only saves
queries: the claim chooses the account of a message from the rows.
"""

from dataclasses import dataclass
from typing import NamedTuple

from django.db.backends.utils import CursorWrapper

from catalogue.channels import Channel
from channels.providers.base import Content
from channels.vendor_accounts import registry, stored_credentials
from storage.process_cache import SnapshotCache
from storage.statements import sql_files
from storage.statements.named_rows import fetch_all

REFRESH_INTERVAL = 0.8
HEARTBEAT_TIMEOUT = 20.0  # seconds: four heartbeats
SHORT_PAUSE = 10.0  # seconds; a message waits out a shorter pause; a longer pause is unavailability

_READ_ACCOUNTS = sql_files.read("channels/vendor_accounts/availability.sql")

_READ_BOUND = """
SELECT DISTINCT kind FROM channels_heartbeat
WHERE kind = ANY(%s) AND (details->>'bound')::int > 0 AND at > now() - make_interval(secs => %s)
"""


class _Account(NamedTuple):
    name: str
    credentials: str
    prefixes: list[str]
    is_limited: bool
    is_available: bool


@dataclass(frozen=True, slots=True)
class AccountSnapshot:
    unavailable: frozenset[str] = frozenset()  # switched off, or with an open breaker
    prefixes: tuple[tuple[str, tuple[str, ...]], ...] = ()  # of accounts with prefixes
    is_any_limited: bool = False  # bound by a rate, or by a breaker that may be half-open
    unbound: frozenset[str] = frozenset()  # hosted accounts whose process is not bound

    def takes(self, provider: str, phone: str) -> bool:
        if provider in self.unavailable:
            return False
        prefixes = next((prefixes for name, prefixes in self.prefixes if name == provider), ())
        return not (phone and prefixes) or phone.startswith(prefixes)


def _read(cursor: CursorWrapper) -> AccountSnapshot:
    cursor.execute(_READ_ACCOUNTS, [SHORT_PAUSE])
    accounts = fetch_all(cursor, _Account)
    stored_credentials.update_registry(
        {row.name: row.credentials for row in accounts if row.credentials}
    )
    hosted = registry.hosted_providers().keys()
    bound = set[str]()
    if hosted:
        cursor.execute(_READ_BOUND, [list(hosted), HEARTBEAT_TIMEOUT])
        bound = {name for (name,) in cursor.fetchall()}
    return AccountSnapshot(
        frozenset(account.name for account in accounts if not account.is_available),
        tuple((account.name, tuple(account.prefixes)) for account in accounts if account.prefixes),
        any(account.is_limited for account in accounts),
        frozenset(hosted - bound),
    )


_accounts = SnapshotCache("availability", _read, AccountSnapshot(), interval=REFRESH_INTERVAL)
refresh = _accounts.read
keep_fresh = _accounts.keep_fresh
reset = _accounts.reset


def has_account(channel: Channel, content: Content, mode: str, phone: str = "") -> bool:
    """Whether an account would carry this content, to this phone if given."""
    routes = registry.routes_by_key().get((mode, channel.name, content.value), [])
    return any(_accounts.value.takes(route.provider, phone) for route in routes)


def has_alternative(provider: str, content: Content, mode: str, phone: str) -> bool:
    """Whether another account of the channel would take this, now or after a short pause."""
    channel = registry.provider(provider).channel
    routes = registry.routes_by_key().get((mode, channel, content.value), [])
    return any(
        route.provider != provider
        and not route.needs_contact
        and _accounts.value.takes(route.provider, phone)
        for route in routes
    )


def unbound_accounts() -> frozenset[str]:
    """Hosted accounts without a bind, which would keep a message waiting."""
    return _accounts.value.unbound


def is_any_limited() -> bool:
    """Whether a claim must count; refreshes the snapshot when it is stale."""
    if _accounts.is_stale:
        refresh()
    return _accounts.value.is_any_limited
