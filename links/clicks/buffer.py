"""Buffers clicks on short links in the process, and flushes them to a Redis stream in batches.

A click reaches Redis within a quarter of a second or, when the process is killed, not at all:
counting must never slow a redirect or fail it. Of the visitor's headers only what follows from them
is kept: kind, device, referring host. No header itself is, and no address. So who opens a link
again counts again: a limit by visitor would need what tells visitors apart.

An entry of the stream is `id` and `batch`, JSON of rows: link id in hexadecimal, kind, Unix ms,
referring host, device, country. Consumers ignore an `id` that they have seen.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Mapping
from multiprocessing.util import Finalize
from typing import Any
from uuid import uuid4

import orjson
import structlog
from redis.exceptions import RedisError

from links.clicks import bot_detection, visit_details
from links.clicks.bot_detection import VisitorKind
from storage.redis_client import blocking_redis_client

STREAM = "clicks"
STREAM_LENGTH = 1_000_000  # entries, each of one batch
CAPACITY = 100_000  # clicks a process keeps while Redis is away
BATCH_SIZE = 2_000  # clicks in one entry
FLUSH_INTERVAL = 0.25  # seconds
RETRY_DELAY = 1.0
REPORT_INTERVAL = 60.0

log = structlog.get_logger(__name__)


BufferedClick = tuple[
    str, VisitorKind, int, str, str, str
]  # link id, kind, Unix ms, referrer, device, country


class ClickBuffer:
    """Clicks in this process that are not in Redis yet."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self.reset()

    def reset(self) -> None:
        """A forked child inherits clicks that its parent flushes, and no thread."""
        self._clicks: deque[BufferedClick] = deque(maxlen=self._capacity)
        self._entry: dict[Any, Any] | None = None
        self._flushing = threading.Lock()
        self._starting = threading.Lock()
        self._is_started = False
        self._dropped = 0
        self._reported_at = 0.0

    def add(self, link_id: str, environ: Mapping[str, Any]) -> None:
        """Never raises: the visitor is redirected even when the click cannot be counted."""
        try:
            self._add(link_id, environ)
        except Exception:
            if not self._dropped:  # once a report, not once a visitor
                log.exception("click_not_buffered")
            self._dropped += 1

    def _add(self, link_id: str, environ: Mapping[str, Any]) -> None:
        if not self._is_started:
            self._start()
        if len(self._clicks) == self._capacity:
            self._dropped += 1  # the deque drops its oldest
        self._clicks.append(
            (
                link_id,
                bot_detection.kind_of(environ),
                int(time.time() * 1000),
                visit_details.referrer_of(environ),
                visit_details.device_of(environ),
                visit_details.country_of(environ),
            )
        )

    def flush(self) -> bool:
        """Writes all clicks to the stream; returns False when Redis fails."""
        with self._flushing:
            # A fixed number of entries: flushing until empty would write tiny entries under load.
            entries = -(-len(self._clicks) // BATCH_SIZE) + (self._entry is not None)
            return all(self._write_entry() for _ in range(entries))

    def _write_entry(self) -> bool:
        # Kept until Redis confirms it: an entry written without a reply is sent again with its id.
        self._entry = self._entry or self._next_entry()
        try:
            blocking_redis_client().xadd(STREAM, self._entry, maxlen=STREAM_LENGTH)
        except (RedisError, OSError):
            return False
        self._entry = None
        return True

    def _next_entry(self) -> dict[Any, Any]:
        batch = [self._clicks.popleft() for _ in range(min(len(self._clicks), BATCH_SIZE))]
        return {"id": uuid4().hex, "batch": orjson.dumps(batch)}

    def _start(self) -> None:
        """Lazily, since a server forks its workers after this module is imported."""
        with self._starting:
            if self._is_started:
                return
            threading.Thread(target=self._run, name="clicks", daemon=True).start()
            self._is_started = True
            # Unlike atexit's, these run in forked worker processes as well.
            Finalize(None, self.flush, exitpriority=1)

    def _run(self) -> None:
        while True:
            time.sleep(FLUSH_INTERVAL if self.flush() else RETRY_DELAY)
            now = time.monotonic()
            if self._dropped and now >= self._reported_at + REPORT_INTERVAL:
                log.warning("clicks_dropped", count=self._dropped)
                self._dropped, self._reported_at = 0, now


_buffer = ClickBuffer()
os.register_at_fork(after_in_child=_buffer.reset)
add = _buffer.add
