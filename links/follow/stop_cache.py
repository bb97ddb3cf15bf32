"""The companies and batches whose links are stopped, cached in this process.

The table is the source of truth. A process reads it before its first response, after each change
that it hears of, and about once a second besides (`links.follow.change_feed`): the process that
made a change may have died before publishing it, and a read may have failed.
"""

import time

import structlog
from django.db.backends.utils import CursorWrapper
from redis.exceptions import RedisError

from config.storage.process_cache import SnapshotCache
from config.storage.redis_client import links_redis_client
from links.follow.cached_row import batch_key

SELECT = "SELECT company_id, batch_id FROM links_stop"
REDIS_COPY = "links:stops"
COPIED_AT = "links:stops_at"  # Unix ms: edges tell by it how old their replica is

# KEYS: the copy, when it was read. ARGV: what to write there. A process that was slow does not undo
# what another has read since; one whose clock is beside the others' by a minute is not believed.
_WRITE = """
local ahead = tonumber(redis.call('GET', KEYS[2]) or '0') - tonumber(ARGV[2])
if ahead > 0 and ahead < 60000 then return end
redis.call('MSET', KEYS[1], ARGV[1], KEYS[2], ARGV[2])
"""

Stopped = frozenset[int | str]  # companies' numbers, batches' names
log = structlog.get_logger(__name__)


def unpack(copy: bytes) -> Stopped:
    return frozenset(int(one) if one.isdigit() else one for one in copy.decode().split())


class StopCache(SnapshotCache[Stopped]):
    def __init__(self) -> None:
        self._redis_copy = RedisCopy()
        super().__init__("stopped_links", _read, frozenset(), copy=self._redis_copy)

    def _read_value(self) -> None:
        self._redis_copy.read_at = int(time.time() * 1000)
        super()._read_value()


def _read(cursor: CursorWrapper) -> Stopped:
    cursor.execute(SELECT)
    return frozenset(batch_key(company, batch) or company for company, batch in cursor.fetchall())


class RedisCopy:
    read_at = 0  # Unix ms: when the read of what is written began

    def read(self) -> Stopped | None:
        copy = links_redis_client().get(REDIS_COPY)
        if copy is None:
            return None
        assert isinstance(copy, bytes)  # noqa: S101 - the client decodes nothing
        return unpack(copy)

    def write(self, stopped: Stopped, /) -> None:
        try:
            copy = " ".join(map(str, stopped))
            links_redis_client().eval(_WRITE, 2, REDIS_COPY, COPIED_AT, copy, self.read_at)
        except (RedisError, OSError) as error:
            log.debug("stopped_links_not_copied_to_redis", error=type(error).__name__)
