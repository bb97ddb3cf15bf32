"""From a slug to where it leads.

A link is looked for in this process (two seconds old at most), in Redis, then in PostgreSQL.
Redis holds under `l:<key>` what is known of the row with exactly that key: the row, `null` when
there is none, or, for a while after a change, an empty value, so that a reader slower than the
change cannot bring the old row back.
"""

import os
import threading
import time
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.db import connection
from redis.client import PubSub
from redis.exceptions import RedisError

from config.redis_client import patient_redis, redis_client
from links import slugs
from links.models import Link

FRESH = 2.0  # seconds an answer lives in this process
FRESH_SLUGS = 50_000
KNOWN = 86_400.0  # seconds a live link lives in Redis
ABSENT = 30.0  # seconds for what is not there, or leads nowhere
CHANGED = 60  # seconds Redis keeps nothing of a changed link
BACK_OFF = 1.0
CHANGES = "links"  # the channel that says: forget what you hold
SQL_READERS = 4  # of the process's pool of connections; the rest are for those who write
SQL_PATIENCE = 1.0

# Retired rows are history. With another case in the slug only an alias may answer.
SELECT = """
    SELECT key, is_alias, id, url, expires_at, disabled_at
    FROM links_link WHERE key = ANY(%s) AND retired_at IS NULL
"""


class Found(NamedTuple):
    url: str
    link_id: str  # in hexadecimal
    expires_at: float | None  # Unix seconds


class Dead(Enum):
    GONE = "410 Gone"
    UNKNOWN = "404 Not Found"


GONE, UNKNOWN = Dead.GONE, Dead.UNKNOWN
Outcome = Found | Dead


class Row(NamedTuple):
    is_alias: bool
    link_id: str
    expires_at: float | None
    url: str  # empty when disabled

    def outcome(self) -> Outcome:
        return Found(self.url, self.link_id, self.expires_at) if self.url else GONE

    def lifetime(self) -> float:
        """Seconds that Redis may keep it."""
        if not self.url:
            return ABSENT
        left = KNOWN if self.expires_at is None else self.expires_at - time.time()
        return min(KNOWN, left) if left > 0 else ABSENT


class Directory:
    """What this process knows of slugs, and how it learns it."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """A forked child starts anew: it inherits no thread, and locks in any state."""
        self._fresh: dict[str, tuple[float, Outcome]] = {}
        self._redis_after = 0.0
        self._untold: set[str] = set()
        self._readers = threading.BoundedSemaphore(SQL_READERS)
        self._starting = threading.Lock()
        self._is_listening = False

    def resolve(self, slug: str) -> Outcome:
        """Where the slug leads now; raises when no store can tell."""
        entry = self._fresh.get(slug)
        if entry is None or entry[0] <= time.monotonic():
            return self._look_up(slug)
        return _now(entry[1])

    def _look_up(self, text: str) -> Outcome:
        slug = slugs.repair(text)
        if slug is None:
            return UNKNOWN
        if slug != text:
            return self.resolve(slug)
        if not self._is_listening:
            self._start()
        row = self._row(slug)
        outcome = row.outcome() if row else UNKNOWN
        if len(self._fresh) >= FRESH_SLUGS:
            self._fresh.clear()
        self._fresh[slug] = time.monotonic() + FRESH, outcome
        return _now(outcome)

    def _row(self, slug: str) -> Row | None:
        keys = list(dict.fromkeys((slug, slug.lower())))
        rows = self._ask_redis(keys)
        if rows.get(slug) is None and len(rows) < len(keys):
            rows = self._ask_sql(keys)
            self._tell_redis(rows)
        exact, alias = rows[slug], rows.get(slug.lower())
        return exact or (alias if alias and alias.is_alias else None)

    def _ask_redis(self, keys: list[str]) -> dict[str, Row | None]:
        if time.monotonic() < self._redis_after:
            return {}
        try:
            values: Any = redis_client().mget(map(_name, keys))
        except (RedisError, OSError):
            self._redis_after = time.monotonic() + BACK_OFF
            return {}
        return {key: _unpack(value) for key, value in zip(keys, values, strict=True) if value}

    def _ask_sql(self, keys: list[str]) -> dict[str, Row | None]:
        if not self._readers.acquire(timeout=SQL_PATIENCE):
            raise TimeoutError("every reader of links is busy")
        try:
            with connection.cursor() as cursor:
                cursor.execute(SELECT, [keys])
                found = {key: _row(*rest) for key, *rest in cursor.fetchall()}
        finally:
            if not connection.in_atomic_block:
                connection.close()  # back to the pool: no Django request ends here
            self._readers.release()
        return {key: found.get(key) for key in keys}

    def _tell_redis(self, rows: Mapping[str, Row | None]) -> None:
        if time.monotonic() < self._redis_after:
            return
        try:
            with redis_client().pipeline(transaction=False) as pipe:
                for key, row in rows.items():
                    pipe.set(_name(key), _pack(row), px=_millis(row), nx=True)
                pipe.execute()
        except (RedisError, OSError):
            self._redis_after = time.monotonic() + BACK_OFF

    def remember(self, *links: Link) -> None:
        """Call after links with a name of their own are committed: somebody may have asked for
        that name before, and been told 404. Their first visitors need no SQL. Never raises.
        """
        try:
            with redis_client().pipeline(transaction=False) as pipe:
                for link in links:
                    row = _row(link.is_alias, link.id, link.url, link.expires_at, link.disabled_at)
                    pipe.set(_name(link.key), _pack(row), px=_millis(row), get=True)
                before = pipe.execute()
            if any(value is not None for value in before):
                # Somebody asked too early and was told 404; others may still hold that answer.
                redis_client().publish(CHANGES, b"")
        except (RedisError, OSError):
            self._redis_after = time.monotonic() + BACK_OFF
        for link in links:
            self._fresh.pop(link.slug, None)
            self._fresh.pop(link.key, None)

    def forget(self, *links: Link) -> None:
        """Call after a change to links is committed. Never raises; repeated until it is told."""
        self._untold.update(link.key for link in links)
        is_told = self._tell_changes()
        self._fresh.clear()  # after Redis, or a reader would fetch the old row once more
        if not is_told:
            self._start()

    def _tell_changes(self) -> bool:
        keys = list(self._untold)
        if not keys:
            return True
        try:
            with redis_client().pipeline(transaction=False) as pipe:
                for key in keys:
                    pipe.set(_name(key), b"", ex=CHANGED)
                pipe.publish(CHANGES, b"")
                pipe.execute()
        except (RedisError, OSError):
            return False
        self._untold.difference_update(keys)
        return True

    def _start(self) -> None:
        with self._starting:
            if not self._is_listening:
                self._is_listening = True
                threading.Thread(target=self._listen, name="links", daemon=True).start()

    def _listen(self) -> None:
        while True:
            client = patient_redis()
            try:
                with PubSub(client.connection_pool, ignore_subscribe_messages=True) as changes:
                    changes.subscribe(CHANGES)
                    while self._tell_changes():
                        if changes.get_message(timeout=BACK_OFF):
                            self._fresh.clear()
            except (RedisError, OSError):
                pass
            time.sleep(BACK_OFF)


def _now(outcome: Outcome) -> Outcome:
    if isinstance(outcome, Found) and outcome.expires_at and outcome.expires_at <= time.time():
        return GONE
    return outcome


def _row(
    is_alias: bool,
    link_id: UUID,
    url: str,
    expires_at: datetime | None,
    disabled_at: datetime | None,
) -> Row:
    until = expires_at.timestamp() if expires_at else None
    return Row(is_alias, link_id.hex, until, "" if disabled_at else url)


def _name(key: str) -> str:
    return f"l:{key}"


def _pack(row: Row | None) -> bytes:
    return orjson.dumps(tuple(row) if row else None)


def _unpack(value: bytes) -> Row | None:
    fields = orjson.loads(value)
    return Row(*fields) if fields else None


def _millis(row: Row | None) -> int:
    return max(1, int(1000 * (row.lifetime() if row else ABSENT)))


_directory = Directory()
os.register_at_fork(after_in_child=_directory.reset)
resolve, remember, forget = _directory.resolve, _directory.remember, _directory.forget
