"""Changes to links and stops, published to every process through Redis and received from others.

A change that Redis did not accept is published again until it does. While Redis is down a process
reads the stops from PostgreSQL instead.
"""

import threading
import time
from collections.abc import Collection

import structlog
from django.db.backends.utils import CursorWrapper
from redis.client import PubSub
from redis.exceptions import ConnectionError as RedisSilentError
from redis.exceptions import RedisError

from links.follow import cached_row
from links.follow.cached_row import Resolution, batch_key
from storage.process_cache import KeyedCache, SnapshotCache
from storage.redis_client import blocking_redis_client, raise_if_demoted, redis_client

SELECT = "SELECT company_id, batch_id FROM links_stop"
REDIS_COPY = "links:stops"

Stopped = frozenset[int | str]  # companies' numbers, batches' names
log = structlog.get_logger(__name__)

SlugKey = str | tuple[int, str]  # a slug of our own host, or of a company's host


class StopCache(SnapshotCache[Stopped]):
    """The stopped companies and batches.

    The table is read before the first response, after each notification of a change, and about once
    a second.
    """

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


SlugCache = KeyedCache[SlugKey, Resolution]


CHANNEL = "links"
# Contents of the messages.
LINKS_CHANGED = b""
STOPS_CHANGED = b"stops"
POLL_TIMEOUT = 1.0  # seconds
SILENCE_TIMEOUT = 2.0  # seconds without a reply after which Redis counts as down
RECONNECT_DELAY = 0.6  # seconds; the interval at which the stops are read in the meantime
# seconds; the process that changed them may have died before publishing
STOPS_REFRESH_INTERVAL = 1.0

_STOPS = ""  # stands for the stops among the keys of changed links


def publish_link_change() -> None:
    redis_client().publish(CHANNEL, LINKS_CHANGED)


class ChangeFeed:
    def __init__(self, cache: SlugCache, stops: StopCache) -> None:
        self._cache = cache
        self._stops = stops
        self._unpublished: set[str] = set()
        self._start_lock = threading.Lock()
        self.is_listening = False

    def publish_links(self, keys: Collection[str]) -> None:
        """Publishes changed links; never raises: keys that fail are published later."""
        self._unpublished.update(keys)
        if not self._publish():
            self.start()

    def publish_stops(self) -> None:
        self.publish_links([_STOPS])

    def _publish(self) -> bool:
        keys = list(self._unpublished)
        if not keys:
            return True
        try:
            with redis_client().pipeline(transaction=False) as pipe:
                cached_row.queue_invalidation(pipe, [key for key in keys if key != _STOPS])
                pipe.publish(CHANNEL, STOPS_CHANGED if _STOPS in keys else LINKS_CHANGED)
                pipe.execute()
        except (RedisError, OSError):
            return False
        self._unpublished.difference_update(keys)
        return True

    def start(self) -> None:
        with self._start_lock:
            if not self.is_listening:
                self.is_listening = True
                threading.Thread(target=self._listen, name="links", daemon=True).start()

    def stop(self) -> None:
        """Stops the thread within POLL_TIMEOUT."""
        self.is_listening = False

    def _listen(self) -> None:
        while self.is_listening:
            client = blocking_redis_client()
            try:
                with PubSub(client.connection_pool) as subscription:
                    subscription.subscribe(CHANNEL)
                    self._poll(subscription)
            except (RedisError, OSError):
                pass
            self._stops.refresh()
            time.sleep(RECONNECT_DELAY)

    def _poll(self, subscription: PubSub) -> None:
        """Receives changes until one cannot be published; raises if Redis is silent or demoted."""
        received_at = refreshed_at = time.monotonic()
        while self.is_listening and self._publish():
            message = subscription.get_message(timeout=POLL_TIMEOUT)
            if message:
                received_at = time.monotonic()
                if message["type"] == "message":
                    self._cache.clear()
                if message["type"] == "subscribe" or message["data"] == STOPS_CHANGED:
                    self._stops.refresh()
            elif time.monotonic() - received_at > SILENCE_TIMEOUT:
                raise RedisSilentError("no sign of Redis")
            else:
                raise_if_demoted()
                subscription.ping()
            if time.monotonic() - refreshed_at >= STOPS_REFRESH_INTERVAL:
                self._stops.refresh()
                refreshed_at = time.monotonic()
