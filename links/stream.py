"""The stream of clicks, read by groups that know nothing of one another.

An entry is done with once it is acknowledged; what a reader died with comes first the next time.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog
from redis.exceptions import RedisError, ResponseError

from config.redis_client import patient_redis, redis_client
from links.clicks import STREAM
from links.judging import Batch, Entry, judged

log = structlog.get_logger(__name__)

ENTRIES = 100  # read at once


@dataclass(frozen=True, slots=True)
class Reader:
    group: str
    name: str

    def consume(self, handle: Callable[[list[Batch]], None]) -> int:
        """Returns how many entries were read; without Redis there are none."""
        try:
            entries = self.read("0") or self.read(">")
            if entries:
                handle(judged(entries))
                patient_redis().xack(STREAM, self.group, *(entry_id for entry_id, _ in entries))
        except (RedisError, OSError) as error:
            log.warning("clicks_not_read", group=self.group, error=type(error).__name__)
            return 0
        return len(entries)

    def read(self, start: str) -> list[Entry]:
        try:
            found: Any = patient_redis().xreadgroup(
                self.group, self.name, {STREAM: start}, count=ENTRIES
            )
        except ResponseError:  # no such group yet, or the stream went with it
            patient_redis().xgroup_create(STREAM, self.group, id="0", mkstream=True)
            return []
        return found[0][1] if found else []


def backlog() -> float | None:
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
    return max((time.time() - millis(entry_id) / 1000 for entry_id in ids), default=0.0)


def _oldest(group: Any) -> bytes | None:
    """The first entry that this group, or nobody, has done with."""
    if group and group["pending"]:
        pending: Any = redis_client().xpending(STREAM, group["name"])
        if first := pending["min"]:
            return bytes(first)
    after = b"(" + group["last-delivered-id"] if group else b"-"
    found: Any = redis_client().xrange(STREAM, min=after, count=1)
    return bytes(found[0][0]) if found else None


def millis(entry_id: bytes) -> int:
    """Unix time of an entry's making, by Redis' clock."""
    return int(entry_id.partition(b"-")[0])
