"""The stream of clicks, read by groups that know nothing of one another.

An entry is done with once it is acknowledged; what a reader died with comes first the next time.

A transaction gets so many clicks, or one entry. What PostgreSQL refuses comes again by halves. An
entry refused by itself is laid aside, under a name of its own in the group, so that the others go
on; it is tried now and then, and given up in the end, for nothing is trimmed while it waits. Of
either the log has an error.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import structlog
from django.db import DatabaseError, DataError, IntegrityError
from psycopg.errors import OutOfMemory, ProgramLimitExceeded, QueryCanceled
from redis.exceptions import RedisError, ResponseError

from config.redis_client import blocking_redis_client, redis_client
from links.clicks.buffer import STREAM
from links.clicks.stream_entries import Batch, Entry, read_batches

log = structlog.get_logger(__name__)

READ_COUNT = 100  # read at once
MAX_CLICKS = 5_000  # in one transaction: a tenth of what a statement has the time for
RETRY_PAUSE = 300.0  # seconds between tries of an entry that was laid aside
MAX_TRIES = 13  # of an entry by itself: an hour of them

Handler = Callable[[list[Batch]], None]


@dataclass(frozen=True, slots=True)
class Consumer:
    group: str
    name: str
    max_clicks: int = MAX_CLICKS
    retry_pause: float = RETRY_PAUSE
    max_tries: int = MAX_TRIES

    def consume(self, handle: Handler) -> int:
        """Returns how many entries were read; none without Redis, nor if one was refused."""
        try:
            entries = self.read("0") or self.read(">")
            # A refusal ends the round: if PostgreSQL refuses whatever it is told, one is enough.
            is_done = all(self._process(chunk, handle) for chunk in self._chunks(entries))
            self._retry_dead_letters(handle)
        except (RedisError, OSError) as error:
            log.warning("clicks_not_read", group=self.group, error=type(error).__name__)
            return 0
        return len(entries) if is_done else 0

    def read(self, start: str) -> list[Entry]:
        try:
            found: Any = blocking_redis_client().xreadgroup(
                self.group, self.name, {STREAM: start}, count=READ_COUNT
            )
        except ResponseError:  # no such group yet, or the stream went with it
            blocking_redis_client().xgroup_create(STREAM, self.group, id="0", mkstream=True)
            return []
        return found[0][1] if found else []

    def _chunks(self, entries: list[Entry]) -> Iterator[list[Entry]]:
        chunk: list[Entry] = []
        room = self.max_clicks
        for entry in entries:
            clicks = _clicks(entry)
            if chunk and clicks > room:
                yield chunk
                chunk, room = [], self.max_clicks
            chunk.append(entry)
            room -= clicks
        if chunk:
            yield chunk

    def _process(self, entries: list[Entry], handle: Handler) -> bool:
        """False: there is one among them that is refused by itself; those after it are left."""
        if self._handle(entries, handle):
            return True
        if len(entries) == 1:
            self._dead_letter(entries[0])
            return False
        half = len(entries) // 2
        return self._process(entries[:half], handle) and self._process(entries[half:], handle)

    def _handle(self, entries: list[Entry], handle: Handler) -> bool:
        try:
            handle(read_batches(entries))
        except DatabaseError as error:
            if not _is_rejection(error):
                raise
            log.warning("clicks_refused", group=self.group, entries=len(entries), error=str(error))
            return False
        blocking_redis_client().xack(STREAM, self.group, *(entry_id for entry_id, _ in entries))
        return True

    @property
    def _dead_letter_consumer(self) -> str:
        return f"{self.name}-aside"

    def _dead_letter(self, entry: Entry) -> None:
        blocking_redis_client().xclaim(
            STREAM, self.group, self._dead_letter_consumer, 0, [entry[0]], retrycount=1
        )
        self._log_error("clicks_laid_aside", entry)

    def _retry_dead_letters(self, handle: Handler) -> None:
        """Each by itself, for as long as PostgreSQL takes them."""
        pause = int(self.retry_pause * 1000)
        waiting: Any = blocking_redis_client().xpending_range(
            STREAM, self.group, "-", "+", READ_COUNT, self._dead_letter_consumer, idle=pause
        )
        for one in waiting:
            entry_id, tries = one["message_id"], one["times_delivered"] + 1
            claimed: Any = blocking_redis_client().xclaim(
                STREAM, self.group, self._dead_letter_consumer, pause, [entry_id], retrycount=tries
            )
            # Nothing: another has claimed it. Without fields: it was trimmed.
            if claimed and not self._handle([entry := (entry_id, claimed[0][1] or {})], handle):
                if tries >= self.max_tries:
                    self._drop(entry)
                return

    def _drop(self, entry: Entry) -> None:
        blocking_redis_client().xack(STREAM, self.group, entry[0])
        self._log_error("clicks_given_up", entry)

    def _log_error(self, event: str, entry: Entry) -> None:
        log.error(event, group=self.group, entry=entry[0].decode(), clicks=_clicks(entry))


def _clicks(entry: Entry) -> int:
    """How many there are at most: each is a list in a list, not worth parsing to be counted."""
    return (entry[1] or {}).get(b"batch", b"[").count(b"[") - 1


def _is_rejection(error: DatabaseError) -> bool:
    """Whether PostgreSQL takes offence at what it was told. For another's lock, or for a server
    that is away, everything waits as it is.
    """
    own = (QueryCanceled, OutOfMemory, ProgramLimitExceeded)
    return isinstance(error, DataError | IntegrityError) or isinstance(error.__cause__, own)


def lag_seconds() -> float | None:
    """For how many seconds the oldest entry has waited for one of its readers; 0.0: there is none.
    None when Redis cannot tell.
    """
    try:
        groups: Any = redis_client().xinfo_groups(STREAM)
        ids = [entry_id for group in groups or [None] if (entry_id := _oldest(group))]
    except ResponseError:  # no such stream
        return 0.0
    except (RedisError, OSError):
        return None
    return max((time.time() - entry_ms(entry_id) / 1000 for entry_id in ids), default=0.0)


def _oldest(group: Any) -> bytes | None:
    """The first entry that this group, or nobody, has done with."""
    if group and group["pending"]:
        pending: Any = redis_client().xpending(STREAM, group["name"])
        if first := pending["min"]:
            return bytes(first)
    after = b"(" + group["last-delivered-id"] if group else b"-"
    found: Any = redis_client().xrange(STREAM, min=after, count=1)
    return bytes(found[0][0]) if found else None


def entry_ms(entry_id: bytes) -> int:
    """Unix time of an entry's making, by Redis' clock."""
    return int(entry_id.partition(b"-")[0])
