"""The companies and batches whose links are stopped, cached in this process.

The table is the source of truth. A process reads it before its first response, after each change
that it hears of, and about once a second besides (`links.follow.change_feed`): the process that
made a change may have died before publishing it, and a read may have failed.
"""

import structlog
from django.db.backends.utils import CursorWrapper
from redis.exceptions import RedisError

from config.storage.process_cache import SnapshotCache
from config.storage.redis_client import redis_client
from links.follow.cached_row import batch_key

SELECT = "SELECT company_id, batch_id FROM links_stop"
REDIS_COPY = "links:stops"

Stopped = frozenset[int | str]  # companies' numbers, batches' names
log = structlog.get_logger(__name__)


class StopCache(SnapshotCache[Stopped]):
    def __init__(self) -> None:
        super().__init__("stopped_links", _read, frozenset(), copy=RedisCopy())


def _read(cursor: CursorWrapper) -> Stopped:
    cursor.execute(SELECT)
    return frozenset(batch_key(company, batch) or company for company, batch in cursor.fetchall())


class RedisCopy:
    def read(self) -> Stopped | None:
        copy = redis_client().get(REDIS_COPY)
        if copy is None:
            return None
        assert isinstance(copy, bytes)  # noqa: S101 - the client decodes nothing
        return frozenset(int(one) if one.isdigit() else one for one in copy.decode().split())

    def write(self, stopped: Stopped, /) -> None:
        try:
            redis_client().set(REDIS_COPY, " ".join(map(str, stopped)))
        except (RedisError, OSError) as error:
            log.debug("stopped_links_not_copied_to_redis", error=type(error).__name__)
