"""The process cache of API keys: an entry is valid while its company is known not to have changed.

Triggers note each change with the id of its transaction (`accounts_companychange`), and a thread
asks what has changed. Without an answer, or without the thread, an entry is valid for `ttl`
seconds after it was read.
"""

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

from accounts.models import CompanyChange
from storage.statements.single_statement import fetch_rows


class Answer(NamedTuple):
    server: datetime  # when it was started: no two servers at the same microsecond
    oldest_running: int  # every transaction before this one has ended
    changes: frozenset[tuple[int, int]]  # transaction and company


# A transaction may commit long after younger ones, so neither a time nor the largest id seen says
# what is new. Whatever a snapshot does not see, and a later one does, began at the first one's xmin
# or later. Both bounds let a generic plan expect few rows; the upper one leaves out ids that a
# restored dump brought along from another server. The DELETE has a server refuse that only reads,
# such as an old primary that a connection has outlived (`storage.primary_connection`).
_ASK = """
WITH nothing AS (DELETE FROM accounts_companychange WHERE false)
SELECT pg_postmaster_start_time() AS server,
  pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest_running,
  c.transaction_id, c.company_id
FROM (SELECT) AS one LEFT JOIN accounts_companychange c ON c.transaction_id >= %s
  AND c.transaction_id < pg_snapshot_xmax(pg_current_snapshot())::text::bigint
"""
_NOTHING_YET = 2**63 - 1


class _Change(NamedTuple):
    """A row of `_ASK`; the first one may have no change."""

    server: datetime
    oldest_running: int
    transaction_id: int | None
    company_id: int | None


class CompanyChanges:
    """Reads the changes since the last answer that the process has applied."""

    def __init__(self) -> None:
        self.last: Answer | None = None

    def ask(self) -> Answer:
        """Asks in one statement in autocommit, so in one snapshot. The caller makes the answer
        `last`.
        """
        since = _NOTHING_YET if self.last is None else self.last.oldest_running
        rows = fetch_rows(_ASK, [since], _Change)
        changes = frozenset(
            (row.transaction_id, row.company_id)
            for row in rows
            if row.transaction_id is not None and row.company_id is not None
        )
        return Answer(rows[0].server, rows[0].oldest_running, changes)

    def companies(self, answer: Answer) -> set[int] | None:
        """Companies with changes since the last answer; None: it may be any company.

        Another server, after a failover, may use the ids of transactions that the first one lost.
        """
        last = self.last
        if last is None or last.server != answer.server:
            return None
        if answer.oldest_running < last.oldest_running:
            return None
        companies = {company_id for _, company_id in answer.changes - last.changes}
        return None if CompanyChange.EVERY_COMPANY in companies else companies


NEVER, ALWAYS = float("-inf"), float("inf")
IN_USE = 60.0  # seconds since its last use
READ_AGAIN = 61.0  # seconds, of a key in use; a read writes `last_used_at` if that is a minute old
UNUSED = 600.0  # seconds that others are kept

V = TypeVar("V")


class Known(NamedTuple, Generic[V]):
    value: V
    company_id: int
    expires_in: float | None  # seconds after the read


@dataclass(slots=True)
class Entry(Generic[V]):
    known: Known[V]
    read_at: float
    ends_at: float
    due_at: float  # when the thread reads it again, if it is in use
    used_at: float

    def is_in_use(self, now: float) -> bool:
        return now < self.used_at + IN_USE


class KeyCache(Generic[V]):
    """Cached answers by digest; emptied when full."""

    def __init__(self, ttl: float, max_entries: int) -> None:
        self.ttl = ttl
        self._max_entries = max_entries
        self.clear()

    def clear(self) -> None:
        """Resets the cache to its state at the start of the process."""
        self._lock = threading.Lock()
        self.entries: dict[bytes, Entry[V]] = {}
        self.used: set[bytes] = set()  # since the thread ran last
        self._asked_at = NEVER  # the last question whose answer is dealt with
        self._answered_at = ALWAYS

    def get(self, digest: bytes) -> V | None:
        entry = self.entries.get(digest)
        if entry is None:
            return None
        now = time.monotonic()
        if now >= entry.ends_at or now >= max(self._asked_at, entry.read_at) + self.ttl:
            return None
        self.used.add(digest)
        return entry.known.value

    def store(
        self, digests: Iterable[bytes], answers: dict[bytes, Known[V]], read_at: float
    ) -> None:
        """Stores the answers of a read that began at `read_at`; forgets keys it did not find."""
        with self._lock:
            new = sum(digest not in self.entries for digest in answers)
            if len(self.entries) + new > self._max_entries:
                self.entries.clear()
            for digest in digests:
                if digest in answers:
                    self._keep(digest, answers[digest], read_at)
                else:
                    self.entries.pop(digest, None)

    def _keep(self, digest: bytes, answer: Known[V], read_at: float) -> None:
        last = self.entries.get(digest)
        # A change that an answer named while the read was under way may be missing in it.
        is_watched = read_at >= self._answered_at
        lifetime = min(
            UNUSED if is_watched else self.ttl,
            ALWAYS if answer.expires_in is None else answer.expires_in,
        )
        self.entries[digest] = Entry(
            answer,
            read_at=read_at,
            ends_at=read_at + lifetime,
            due_at=read_at + READ_AGAIN if is_watched else read_at,
            used_at=last.used_at if last else NEVER,
        )

    def discard(self, digest: bytes) -> None:
        with self._lock:
            self.entries.pop(digest, None)

    def take_due(self, changed: set[int] | None) -> list[bytes]:
        """Forgets the keys of changed companies, None being all; returns those to be read again.

        These stay until then, but no longer than without this answer.
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
                if changed is None or entry.known.company_id in changed
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
        """Nothing had changed when this was asked, save what has been read again since."""
        self._asked_at = asked_at
