"""The stream of clicks: its entries, the independent consumer groups that read it, its trimming.

A consumer acknowledges an entry after its commit; entries that a dead consumer left unacknowledged
come first. ClickHouse is optional and may be down for long: its group (`SINK`) has its own lag, and
no other reader waits for it.

A transaction gets MAX_CLICKS at most, or one entry. A click that the store refuses is left out and
logged. A chunk that is still rejected is retried by halves. An entry rejected by itself is
dead-lettered: another consumer of the group claims it, so that it does not block the rest. It is
retried now and then, and dropped after MAX_TRIES, because the stream is not trimmed while it waits.
Both are logged as errors.

Entries stay until every group has acknowledged them, and TRIM_AFTER longer. For ClickHouse they
stay CLICKHOUSE_BACKLOG seconds at most: it loses older entries, which is noted, logged, and shown
by `doctor`.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

import orjson
import structlog
from django.conf import settings
from psycopg.errors import OutOfMemory, ProgramLimitExceeded, QueryCanceled
from redis.exceptions import RedisError, ResponseError

from links.clicks import bot_detection, clickhouse_tables
from links.clicks.bot_detection import HandOverWindow, VisitorKind
from links.clicks.buffer import STREAM, STREAM_LENGTH
from storage import clickhouse
from storage.redis_client import blocking_redis_client, redis_client
from storage.store_errors import is_refusal

log = structlog.get_logger(__name__)

Entry = tuple[bytes, dict[bytes, bytes]]
MAX_MILLIS = 2**42  # Unix ms: the year 2109
_KINDS = {kind.value: kind.value for kind in VisitorKind}  # faster than calling the enumeration


class Click(NamedTuple):
    link_id: UUID
    kind: str
    millis: int  # Unix time
    referrer: str = ""
    device: str = ""
    country: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """The clicks of one entry; its id is the same if the entry is delivered again."""

    id: str
    clicks: list[Click]

    def by_people(self) -> dict[UUID, list[int]]:
        """Link → times of people's clicks in Unix milliseconds."""
        times: dict[UUID, list[int]] = defaultdict(list)
        for click in self.clicks:
            if click.kind == VisitorKind.PERSON:
                times[click.link_id].append(click.millis)
        return times


def read_batches(entries: list[Entry]) -> list[Batch]:
    """Parses the entries, and corrects the kinds of clicks that were too early for a person."""
    batches = [batch for batch in map(_parse, entries) if batch]
    link_ids = {click.link_id for batch in batches for click in batch.clicks}
    windows = bot_detection.hand_over_windows(link_ids)
    if not windows:
        return batches
    return [Batch(batch.id, [_corrected(c, windows) for c in batch.clicks]) for batch in batches]


def _parse(entry: Entry) -> Batch | None:
    """The batch of an entry; None for a trimmed or malformed one, which must not block the rest."""
    entry_id, fields = entry
    if not fields:
        return None
    try:
        rows = orjson.loads(fields[b"batch"])
        batch_id = UUID(hex=fields[b"id"].decode()).hex
    except (ValueError, LookupError):
        log.exception("click_entry_malformed", entry=entry_id.decode())
        return None
    link_ids: dict[str, UUID] = {}  # a batch has many clicks of few links
    clicks = [click for row in rows if (click := _read_row(row, link_ids, entry_id))]
    return Batch(batch_id, clicks)


def _read_row(row: Any, link_ids: dict[str, UUID], entry_id: bytes) -> Click | None:
    """The click of a row; None for a row that is no click: the entry's other rows are read."""
    try:
        if (link_id := link_ids.get(row[0])) is None:
            link_id = link_ids[row[0]] = UUID(hex=row[0])
        return _click(link_id, *row[1:6])
    except (ValueError, LookupError, TypeError, AttributeError):
        log.exception("click_malformed", entry=entry_id.decode())
        return None


def _click(link_id: UUID, kind: str, millis: int, *details: str) -> Click:
    return Click(link_id, _KINDS[kind], _checked_millis(millis), *details)


def _checked_millis(millis: int) -> int:
    if 0 <= millis < MAX_MILLIS:
        return millis
    raise ValueError(millis)


def _corrected(click: Click, windows: dict[UUID, list[HandOverWindow]]) -> Click:
    if click.kind != VisitorKind.PERSON or click.link_id not in windows:
        return click
    if bot_detection.is_scanner_by_timing(click.millis, windows[click.link_id]):
        return click._replace(kind=VisitorKind.SCANNER.value)
    return click


READ_COUNT = 100  # entries read at once
MAX_CLICKS = 5_000  # clicks in one transaction: a tenth of what the statement timeout allows
RETRY_PAUSE = 300.0  # seconds between tries of a dead-lettered entry
MAX_TRIES = 13  # of a dead-lettered entry, within an hour
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
        """Handles unread entries; returns their number, 0 without Redis or if one was rejected."""
        try:
            entries = self.read("0") or self.read(">")
            # A rejection ends the round, in case every entry is rejected.
            is_done = all(self._process(chunk, handle) for chunk in self._chunks(entries))
            self._retry_dead_letters(handle)
        except (RedisError, OSError) as error:
            log.warning("clicks_not_read", group=self.group, error=type(error).__name__)
            return 0
        return len(entries) if is_done else 0

    def read(self, start: str) -> list[Entry]:
        try:
            reply: Any = blocking_redis_client().xreadgroup(
                self.group, self.name, {STREAM: start}, count=READ_COUNT
            )
        except ResponseError:  # the group does not exist yet, or was lost with the stream
            blocking_redis_client().xgroup_create(STREAM, self.group, id="0", mkstream=True)
            return []
        return reply[0][1] if reply else []

    def _chunks(self, entries: list[Entry]) -> Iterator[list[Entry]]:
        chunk: list[Entry] = []
        room = self.max_clicks
        for entry in entries:
            clicks = _clicks(entry)
            if chunk and clicks > room:
                yield chunk
                chunk = []
                room = self.max_clicks
            chunk.append(entry)
            room -= clicks
        if chunk:
            yield chunk

    def _process(self, entries: list[Entry], handle: Handler) -> bool:
        """Handles entries; False if one is rejected by itself, and later entries stay unread."""
        if self._handle(entries, handle):
            return True
        if len(entries) == 1:
            self._dead_letter(entries[0])
            return False
        middle = len(entries) // 2
        return self._process(entries[:middle], handle) and self._process(entries[middle:], handle)

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
        return f"{self.name}-dead-letter"

    def _dead_letter(self, entry: Entry) -> None:
        blocking_redis_client().xclaim(
            STREAM, self.group, self._dead_letter_consumer, 0, [entry[0]], retrycount=1
        )
        self._log_error("clicks_dead_lettered", entry)

    def _retry_dead_letters(self, handle: Handler) -> None:
        """Retries entries one by one, until one is rejected."""
        pause = int(self.retry_pause * 1000)
        waiting: Any = blocking_redis_client().xpending_range(
            STREAM, self.group, "-", "+", READ_COUNT, self._dead_letter_consumer, idle=pause
        )
        for pending in waiting:
            entry_id = pending["message_id"]
            tries = pending["times_delivered"] + 1
            claimed: Any = blocking_redis_client().xclaim(
                STREAM, self.group, self._dead_letter_consumer, pause, [entry_id], retrycount=tries
            )
            # Empty if another consumer has claimed it; without fields if it was trimmed.
            if claimed and not self._handle([entry := (entry_id, claimed[0][1] or {})], handle):
                if tries >= self.max_tries:
                    blocking_redis_client().xack(STREAM, self.group, entry[0])
                    self._log_error("clicks_dropped_after_retries", entry)
                return

    def _log_error(self, event: str, entry: Entry) -> None:
        log.error(event, group=self.group, entry=entry[0].decode(), clicks=_clicks(entry))


def _clicks(entry: Entry) -> int:
    """An upper bound of the clicks, without parsing: each click is a list inside a list."""
    return (entry[1] or {}).get(b"batch", b"[").count(b"[") - 1


def _is_rejection(error: Exception) -> bool:
    """Whether the data itself is at fault; a lock or a missing server is not a rejection."""
    if isinstance(error, clickhouse.ClickHouseError):
        return isinstance(error, clickhouse.RejectedError)
    ours = (QueryCanceled, OutOfMemory, ProgramLimitExceeded)
    return is_refusal(error) or isinstance(error.__cause__, ours)


def lag_seconds() -> float | None:
    """Seconds that the oldest entry has waited for its slowest group, except ClickHouse's.

    It is 0.0 if none waits, and None without Redis.
    """
    return _lag(lambda groups: [group for group in groups if not is_sink(group)])


def sink_lag_seconds() -> float | None:
    """Seconds that the oldest entry has waited for ClickHouse's group; None without Redis."""
    return _lag(lambda groups: [group for group in groups if is_sink(group)])


def _lag(choose: Callable[[Any], list[Any]]) -> float | None:
    try:
        groups = choose(redis_client().xinfo_groups(STREAM))
        ids = [entry_id for group in groups or [None] if (entry_id := oldest(group))]
    except ResponseError:  # the stream does not exist
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
    entries: Any = redis_client().xrange(STREAM, min=after, count=1)
    return bytes(entries[0][0]) if entries else None


def entry_ms(entry_id: bytes) -> int:
    """The time at which Redis added the entry, in Unix ms by its clock."""
    return int(entry_id.partition(b"-")[0])


TRIM_AFTER = 60.0  # seconds that entries stay once every group has read them


def trim() -> None:
    try:
        _trim_to(blocking_redis_client().xinfo_groups(STREAM))
    except (RedisError, OSError) as error:
        log.warning("click_stream_not_trimmed", error=type(error).__name__)


def _trim_to(groups: Any) -> None:
    counters = [group for group in groups if not is_sink(group)]
    if not counters or any(group["pending"] for group in counters):
        return
    slowest = min(entry_ms(group["last-delivered-id"]) for group in counters)
    cut = min(slowest, _ms_ago(TRIM_AFTER))
    for group in groups:
        if is_sink(group):
            cut = _cut_behind_sink(group, cut)
    blocking_redis_client().xtrim(STREAM, minid=f"{cut}-0", approximate=True)


def _cut_behind_sink(group: Any, cut: int) -> int:
    """The id to trim to, at or before `cut`."""
    if not settings.CLICKHOUSE_URL:  # ClickHouse is turned off: nothing will read for it
        blocking_redis_client().xgroup_destroy(STREAM, SINK)
        return cut
    waiting = oldest(group)
    if waiting is None:
        return cut
    kept_from = min(cut, _ms_ago(settings.CLICKHOUSE_BACKLOG))
    if entry_ms(waiting) < kept_from:
        clickhouse_tables.record_loss(kept_from / 1000)
    # Redis drops the oldest entries itself.
    elif blocking_redis_client().xlen(STREAM) >= STREAM_LENGTH:
        clickhouse_tables.record_loss(entry_ms(waiting) / 1000)
    return min(cut, max(entry_ms(waiting), kept_from))


def _ms_ago(seconds: float) -> int:
    return int((time.time() - seconds) * 1000)
