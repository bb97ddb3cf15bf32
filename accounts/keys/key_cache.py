"""The process cache of API keys: an entry is valid while its company is known to be unchanged.

Triggers record each change with the id of its transaction (`accounts_companychange`), and a thread
polls for changes. Without a snapshot, or without the thread, an entry is valid for `ttl` seconds
after it was read.
"""

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

from accounts.models import CompanyChange
from storage.statements import sql_files
from storage.statements.single_statement import fetch_rows


class Snapshot(NamedTuple):
    server: datetime  # its start time, unique to the microsecond
    oldest_running: int  # every transaction before this one has ended
    changes: frozenset[tuple[int, int]]  # (transaction, company)


_QUERY = sql_files.read("accounts/keys/changes.sql")
_NOTHING_YET = 2**63 - 1


class _Change(NamedTuple):
    """A row of `_QUERY`; a single row without a change if there is none."""

    server: datetime
    oldest_running: int
    transaction_id: int | None
    company_id: int | None


class CompanyChanges:
    """Reads the changes since the last snapshot that the process has applied."""

    def __init__(self) -> None:
        self.last: Snapshot | None = None

    def ask(self) -> Snapshot:
        """The changes since `last`, read by one autocommit statement, hence in one snapshot.

        The caller sets `last` once it has applied them.
        """
        since = _NOTHING_YET if self.last is None else self.last.oldest_running
        rows = fetch_rows(_QUERY, [since], _Change)
        changes = frozenset(
            (row.transaction_id, row.company_id)
            for row in rows
            if row.transaction_id is not None and row.company_id is not None
        )
        return Snapshot(rows[0].server, rows[0].oldest_running, changes)

    def companies(self, snapshot: Snapshot) -> set[int] | None:
        """The companies with changes since the last snapshot, or None: any company may have some.

        After a failover the new server may reuse ids of transactions that the old one lost.
        """
        last = self.last
        if last is None or last.server != snapshot.server:
            return None
        if snapshot.oldest_running < last.oldest_running:
            return None
        companies = {company_id for _, company_id in snapshot.changes - last.changes}
        return None if CompanyChange.EVERY_COMPANY in companies else companies


NEVER = float("-inf")
ALWAYS = float("inf")
ACTIVE_SECONDS = 60.0  # seconds after its last use
REFRESH_AFTER = 61.0  # seconds, for a key in use: after its `last_used_at` is due for an update
LIFETIME = 600.0  # seconds that a key is cached after it was read

V = TypeVar("V")


class KeyRecord(NamedTuple, Generic[V]):
    value: V
    company_id: int
    expires_in: float | None  # seconds after the read


@dataclass(slots=True)
class Entry(Generic[V]):
    record: KeyRecord[V]
    read_at: float
    ends_at: float
    due_at: float  # when the thread reads it again, if it is in use
    used_at: float

    def is_in_use(self, now: float) -> bool:
        return now < self.used_at + ACTIVE_SECONDS


class KeyCache(Generic[V]):
    """Cached records by digest; emptied when full."""

    def __init__(self, ttl: float, max_entries: int) -> None:
        self.ttl = ttl
        self._max_entries = max_entries
        self.clear()

    def clear(self) -> None:
        """Resets the cache to its state at the start of the process."""
        self._lock = threading.Lock()
        self.entries: dict[bytes, Entry[V]] = {}
        self.used: set[bytes] = set()  # since the thread's last run
        self._asked_at = NEVER  # when the last applied snapshot was asked for
        self._answered_at = ALWAYS

    def get(self, digest: bytes) -> V | None:
        entry = self.entries.get(digest)
        if entry is None:
            return None
        now = time.monotonic()
        if now >= entry.ends_at or now >= max(self._asked_at, entry.read_at) + self.ttl:
            return None
        self.used.add(digest)
        return entry.record.value

    def store(
        self, digests: Iterable[bytes], records: dict[bytes, KeyRecord[V]], read_at: float
    ) -> None:
        """Stores the records of a read that began at `read_at`; drops keys that it did not find."""
        with self._lock:
            new = sum(digest not in self.entries for digest in records)
            if len(self.entries) + new > self._max_entries:
                self.entries.clear()
            for digest in digests:
                if digest in records:
                    self._keep(digest, records[digest], read_at)
                else:
                    self.entries.pop(digest, None)

    def _keep(self, digest: bytes, record: KeyRecord[V], read_at: float) -> None:
        last = self.entries.get(digest)
        # A read may lack a change that was reported while it ran.
        is_watched = read_at >= self._answered_at
        lifetime = min(
            LIFETIME if is_watched else self.ttl,
            ALWAYS if record.expires_in is None else record.expires_in,
        )
        self.entries[digest] = Entry(
            record,
            read_at=read_at,
            ends_at=read_at + lifetime,
            due_at=read_at + REFRESH_AFTER if is_watched else read_at,
            used_at=last.used_at if last else NEVER,
        )

    def discard(self, digest: bytes) -> None:
        with self._lock:
            self.entries.pop(digest, None)

    def take_due(self, changed: set[int] | None) -> list[bytes]:
        """Drops unused keys of changed companies; returns the keys to read again.

        `changed` is None if any company may have changed.

        These stay valid until then, but at most `ttl` seconds after the last snapshot that was
        applied.
        """
        with self._lock:
            self._answered_at = now = time.monotonic()
            used, self.used = self.used, set()
            due = [digest for digest in used if self._is_due(digest, now)]
            if changed == set():
                return due
            stale = {
                digest: entry.is_in_use(now)
                for digest, entry in self.entries.items()
                if changed is None or entry.record.company_id in changed
            }
            for digest, is_in_use in stale.items():
                if not is_in_use:
                    del self.entries[digest]
        return list({*due, *(digest for digest, is_in_use in stale.items() if is_in_use)})

    def _is_due(self, digest: bytes, now: float) -> bool:
        entry = self.entries.get(digest)
        if entry is None:
            return False
        entry.used_at = now
        return now >= entry.due_at

    def confirm(self, asked_at: float) -> None:
        """Records that all entries were current at `asked_at`: the changed ones have been read
        again.
        """
        self._asked_at = asked_at
