"""The companies and batches whose links are stopped, cached in this process.

The table is the source of truth. A process reads it before its first response, after each change
that it hears of, and about once a second besides (`links.follow.change_feed`): the process that
made a change may have died before publishing it, and a read may have failed.
"""

import threading

import structlog
from django.db import DatabaseError, connection
from psycopg_pool import PoolTimeout
from redis.exceptions import RedisError

from config.pooled_connection import pooled_connection
from config.redis_client import redis_client
from links.follow.cached_row import batch_key

SELECT = "SELECT company_id, batch_id FROM links_stop"
REDIS_COPY = "links:stops"  # in Redis, for a process that starts while the database is away
FIRST_READ_TIMEOUT = 6.0  # seconds; a little longer than the pool's

log = structlog.get_logger(__name__)


class StopCache:
    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """A forked child inherits locks in any state."""
        self.stopped: frozenset[int | str] = frozenset()  # companies' numbers, batches' names
        self._is_read = False
        self._read_lock = threading.Lock()

    def ensure_loaded(self) -> None:
        """Call before the first response; raises when no store can be read."""
        if self._is_read:
            return
        if not self._read_lock.acquire(timeout=FIRST_READ_TIMEOUT):
            raise TimeoutError("no store tells which links are stopped")
        try:
            if not self._is_read:
                self._read_first()
        finally:
            self._read_lock.release()

    def _read_first(self) -> None:
        try:
            self._read()
        except (DatabaseError, PoolTimeout):
            copy = redis_client().get(REDIS_COPY)
            if copy is None:
                raise
            assert isinstance(copy, bytes)  # noqa: S101 - the client decodes nothing
            self.stopped, self._is_read = _unpacked(copy), True
            log.warning("stopped_links_read_from_redis")

    def refresh(self) -> None:
        """Keeps the old stops while the database is away. Reads queue: the last is the newest."""
        with self._read_lock:
            try:
                self._read()
            except Exception as error:  # the edge of a thread, which must not end
                log.warning("stopped_links_not_read", error=type(error).__name__)

    def _read(self) -> None:
        with pooled_connection(), connection.cursor() as cursor:
            cursor.execute(SELECT)
            rows = cursor.fetchall()
        self.stopped = frozenset(batch_key(company, batch) or company for company, batch in rows)
        self._is_read = True
        self._copy()

    def _copy(self) -> None:
        try:
            redis_client().set(REDIS_COPY, " ".join(map(str, self.stopped)))
        except (RedisError, OSError) as error:
            log.debug("stopped_links_not_copied_to_redis", error=type(error).__name__)


def _unpacked(copy: bytes) -> frozenset[int | str]:
    return frozenset(int(one) if one.isdigit() else one for one in copy.decode().split())
