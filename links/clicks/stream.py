"""The stream of clicks, read by independent consumer groups.

A consumer acknowledges an entry after its commit; entries that a dead consumer left unacknowledged
come first.

ClickHouse is optional and may be away for long: its group (`SINK`) has a lag of its own, and no
other reader waits for it.

A transaction gets MAX_CLICKS at most, or one entry. A click that the store refuses is left out and
logged. A chunk that is rejected all the same is retried by halves. An entry rejected by itself is
dead-lettered: another consumer of the group claims it, so that it blocks no other. It is retried
now and then, and dropped after MAX_TRIES, because the stream is not trimmed while it waits. Both
are logged as errors.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import structlog
from psycopg.errors import OutOfMemory, ProgramLimitExceeded, QueryCanceled
from redis.exceptions import RedisError, ResponseError

from config.storage import clickhouse
from config.storage.redis_client import blocking_redis_client, redis_client
from config.storage.store_errors import is_refusal
from links.clicks.buffer import STREAM
from links.clicks.stream_entries import Batch, Entry, read_batches

log = structlog.get_logger(__name__)

READ_COUNT = 100  # read at once
MAX_CLICKS = 5_000  # in one transaction: a tenth of what the statement timeout allows
RETRY_PAUSE = 300.0  # seconds between tries of a dead-lettered entry
MAX_TRIES = 13  # of a dead-lettered entry: an hour
SINK = "clickhouse"  # the group that writes to ClickHouse

Handler = Callable[[list[Batch]], None]


@dataclass(frozen=True, slots=True)
class Consumer:
    group: str
    name: str
    max_clicks: int = MAX_CLICKS
    retry_pause: float = RETRY_PAUSE
    max_tries: int = MAX_TRIES

    def consume(self, handle: Handler) -> int:
        """Returns how many entries were read; 0 without Redis, or when one was rejected."""
        try:
            entries = self.read("0") or self.read(">")
            # A rejection ends the round, in case everything is.
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
        """Returns False when one entry is rejected by itself; those after it stay unread."""
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
        except Exception as error:
            if not _is_rejection(error):
                raise
            log.warning("clicks_rejected", group=self.group, entries=len(entries), error=str(error))
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
        self._log_error("clicks_dead_lettered", entry)

    def _retry_dead_letters(self, handle: Handler) -> None:
        """One by one, until one is rejected."""
        pause = int(self.retry_pause * 1000)
        waiting: Any = blocking_redis_client().xpending_range(
            STREAM, self.group, "-", "+", READ_COUNT, self._dead_letter_consumer, idle=pause
        )
        for pending in waiting:
            entry_id, tries = pending["message_id"], pending["times_delivered"] + 1
            claimed: Any = blocking_redis_client().xclaim(
                STREAM, self.group, self._dead_letter_consumer, pause, [entry_id], retrycount=tries
            )
            # Empty when another consumer has claimed it; without fields when it was trimmed.
            if claimed and not self._handle([entry := (entry_id, claimed[0][1] or {})], handle):
                if tries >= self.max_tries:
                    self._drop(entry)
                return

    def _drop(self, entry: Entry) -> None:
        blocking_redis_client().xack(STREAM, self.group, entry[0])
        self._log_error("clicks_dropped_after_retries", entry)

    def _log_error(self, event: str, entry: Entry) -> None:
        log.error(event, group=self.group, entry=entry[0].decode(), clicks=_clicks(entry))


def _clicks(entry: Entry) -> int:
    """An upper bound, without parsing: each click is a list inside a list."""
    return (entry[1] or {}).get(b"batch", b"[").count(b"[") - 1


def _is_rejection(error: Exception) -> bool:
    """Whether the data itself is at fault; a lock or a missing server is no rejection."""
    if isinstance(error, clickhouse.ClickHouseError):
        return isinstance(error, clickhouse.RejectedError)
    own = (QueryCanceled, OutOfMemory, ProgramLimitExceeded)
    return is_refusal(error) or isinstance(error.__cause__, own)


def lag_seconds() -> float | None:
    """Seconds that the oldest entry has waited for its slowest group, ClickHouse's aside; 0.0 when
    none waits, None without Redis.
    """
    return _lag(lambda groups: [group for group in groups if not is_sink(group)])


def sink_lag_seconds() -> float | None:
    """The same of ClickHouse's group alone."""
    return _lag(lambda groups: [group for group in groups if is_sink(group)])


def _lag(choose: Callable[[Any], list[Any]]) -> float | None:
    try:
        groups = choose(redis_client().xinfo_groups(STREAM))
        ids = [entry_id for group in groups or [None] if (entry_id := oldest(group))]
    except ResponseError:  # no such stream
        return 0.0
    except (RedisError, OSError):
        return None
    return max((time.time() - entry_ms(entry_id) / 1000 for entry_id in ids), default=0.0)


def is_sink(group: Any) -> bool:
    return bool(group["name"] == SINK.encode())


def oldest(group: Any) -> bytes | None:
    """The first entry that this group has not acknowledged, or that no group has read."""
    if group and group["pending"]:
        pending: Any = redis_client().xpending(STREAM, group["name"])
        if first := pending["min"]:
            return bytes(first)
    after = b"(" + group["last-delivered-id"] if group else b"-"
    found: Any = redis_client().xrange(STREAM, min=after, count=1)
    return bytes(found[0][0]) if found else None


def entry_ms(entry_id: bytes) -> int:
    """When Redis added the entry, in Unix ms by its clock."""
    return int(entry_id.partition(b"-")[0])
