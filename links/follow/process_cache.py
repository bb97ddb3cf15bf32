"""What this process caches of links: slugs for a second, and the companies and batches stopped.

Concurrent misses of a slug share one load. The table is the source of truth of stops. A process
reads it before its first response, after each change that it hears of, and about once a second
besides (`links.follow.change_feed`): the process that made a change may have died before publishing
it, and a read may have failed.
"""

import structlog
from django.db.backends.utils import CursorWrapper
from redis.exceptions import RedisError

from links.follow.cached_row import Resolution, batch_key
from storage.process_cache import KeyedCache, SnapshotCache
from storage.redis_client import redis_client

SELECT = "SELECT company_id, batch_id FROM links_stop"
REDIS_COPY = "links:stops"

Stopped = frozenset[int | str]  # companies' numbers, batches' names
log = structlog.get_logger(__name__)

TTL = 1.0  # seconds
MAX_SLUGS = 50_000

SlugKey = str | tuple[int, str]  # a slug of our own host, or of a company's


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
        return frozenset(int(part) if part.isdigit() else part for part in copy.decode().split())

    def write(self, stopped: Stopped, /) -> None:
        try:
            redis_client().set(REDIS_COPY, " ".join(map(str, stopped)))
        except (RedisError, OSError) as error:
            log.debug("stopped_links_not_copied_to_redis", error=type(error).__name__)


class SlugCache(KeyedCache[SlugKey, Resolution]):
    def __init__(self) -> None:
        super().__init__(TTL, MAX_SLUGS)
