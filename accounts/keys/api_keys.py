"""Looks up the API keys of requests in a process cache, which a thread refreshes."""

import time
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from django.db import transaction

from accounts.keys import key_format
from accounts.keys.key_cache import CompanyChanges, KeyCache, KeyRecord
from accounts.keys.principal import Principal, column_sql, principal_of
from accounts.models import ApiKey, Company
from processes.background import PeriodicThread
from processes.process_state import on_reset
from storage.process_cache import KeyedCache
from storage.statements import sql_files
from storage.statements.single_statement import fetch_rows

CACHE_SECONDS = 2.0  # a revoked key is refused within two seconds in every process
# seconds; well below CACHE_SECONDS, which pages and docs name as "two seconds"
REFRESH_INTERVAL = 0.8
CACHE_SIZE = 10_000


@cache
def statements() -> dict[str, str]:
    """The statements of `api_keys.sql`, once every package has registered its column."""
    return sql_files.read_several("accounts/keys/api_keys.sql", texts=column_sql())


_valid_keys = KeyCache[Principal](CACHE_SECONDS, CACHE_SIZE)
_invalid_keys = KeyedCache[bytes, None](CACHE_SECONDS, CACHE_SIZE)  # separate: junk evicts no key
_changes = CompanyChanges()


def find(key: str) -> Principal | None:
    """The principal of a key; None for malformed, unknown, revoked or expired keys."""
    return find_by_digest(key_format.digest(key)) if key_format.is_well_formed(key) else None


def find_by_digest(key_digest: bytes) -> Principal | None:
    return _valid_keys.get(key_digest) or _find_in_database(key_digest)


def _find_in_database(key_digest: bytes) -> Principal | None:
    unknown = _invalid_keys.entries.get(key_digest)
    if unknown is not None and unknown[0] > time.monotonic():
        return None
    entry = _read([key_digest]).get(key_digest)
    if entry is None:
        return None
    _valid_keys.used.add(key_digest)
    return entry.value


def without_key(company: Company, mode: str) -> Principal:
    """The principal of a member who sends in the cabinet, with the company's current settings."""
    params = {"company_id": company.pk, "mode": mode}
    (row,) = fetch_rows(statements()["without_key"], params, dict[str, Any])
    return principal_of(row)


def refresh() -> None:
    """Asks which companies have changed, and reads again those of their keys that are in use.

    The snapshot takes effect once all keys are read: after a failure the next call asks again.
    """
    asked_at = time.monotonic()
    snapshot = _changes.ask()
    due = _valid_keys.take_due(_changes.companies(snapshot))
    if due:
        _read(due)
    _changes.last = snapshot
    _valid_keys.confirm(asked_at)


def start_refresh_thread() -> PeriodicThread:
    """Starts the thread of a web process; until it sees a change, a cached key costs no query."""
    thread = PeriodicThread("keys", refresh, REFRESH_INTERVAL)
    thread.start()
    return thread


def evict(key_digest: bytes) -> None:
    """Evicts a key from this process's cache; others drop it within CACHE_SECONDS."""
    _valid_keys.discard(bytes(key_digest))
    _invalid_keys.discard(bytes(key_digest))


def evict_keys(company: Company) -> None:
    """Evicts the company's keys after the commit; other processes reload within two seconds."""
    evict_after_commit(company.api_keys.active())


def evict_after_commit(keys: Iterable[ApiKey]) -> None:
    digests = [bytes(key.digest) for key in keys]

    def forget() -> None:
        for digest in digests:
            evict(digest)

    # Before the commit another thread could read the old row back into the cache.
    transaction.on_commit(forget)


@on_reset
def clear_cache() -> None:
    _changes.last = None
    _valid_keys.clear()
    _invalid_keys.clear()


def _read(digests: list[bytes]) -> dict[bytes, KeyRecord[Principal]]:
    read_at = time.monotonic()  # before the read, or a revoked key might live longer
    rows = fetch_rows(statements()["read"], {"digests": digests}, dict[str, Any])
    principals = {bytes(row["digest"]): _record_of(row) for row in rows}
    _valid_keys.store(digests, principals, read_at)
    _invalid_keys.store({digest: None for digest in digests if digest not in principals}, read_at)
    return principals


def _record_of(row: Mapping[str, Any]) -> KeyRecord[Principal]:
    return KeyRecord(principal_of(row), row["company_id"], row["expires_in"])
