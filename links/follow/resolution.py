"""From a slug to where it leads.

A link is looked for in this process (a second old at most), in Redis
(`links.follow.redis_cache`), then in PostgreSQL.

Expiry and stops are judged on every hit, wherever it was found.
"""

import os
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from django.db import connection
from redis.client import PubSub
from redis.exceptions import ConnectionError as RedisSilentError
from redis.exceptions import RedisError

from config.pooled_connection import pooled_connection
from config.redis_client import blocking_redis_client, redis_client
from links.addresses import short_hosts, slugs
from links.follow import cached_row, redis_cache
from links.follow.cached_row import (
    GONE,
    NOT_FOUND,
    ONE_TIME_GONE,
    CachedRow,
    ExpiredTarget,
    LinkTarget,
    NoTarget,
    Resolution,
)
from links.follow.stop_cache import StopCache
from links.models import Link

__all__ = [
    "GONE",
    "NOT_FOUND",
    "ONE_TIME_GONE",
    "ExpiredTarget",
    "LinkTarget",
    "NoTarget",
    "Resolution",
    "Resolver",
]

CACHE_TTL = 1.0  # seconds an answer lives in this process
CACHE_SIZE = 50_000
REDIS_BACKOFF = 1.0
STOPS_REFRESH_INTERVAL = (
    1.0  # seconds between readings of what is stopped: a change may be told by nobody
)
RECONNECT_DELAY = (
    0.6  # seconds between tries to hear Redis, and readings of what is stopped meanwhile
)
SILENCE_TIMEOUT = 2.0  # seconds without a sign of Redis after which it is away
CHANNEL = "links"  # the channel that says: forget what you hold
STOPS_CHANGED = b"stops"  # said there: read anew what is stopped
SQL_READERS = 4  # of the process's pool of connections; the rest are for those who write
SQL_READER_TIMEOUT = 1.0
SINGLE_FLIGHT_TIMEOUT = 2.0  # seconds to wait for another's search for the same slug

SlugKey = str | tuple[int, str]  # a slug of our own host, or of a company's


class Resolver:
    """What this process knows of slugs, and how it learns it."""

    def __init__(self, stops: StopCache | None = None) -> None:
        self._stops = stops or _stops
        self.reset()

    def reset(self) -> None:
        """A forked child starts anew: it inherits no thread, and locks in any state."""
        self._fresh: dict[SlugKey, tuple[float, Resolution]] = {}
        self._flights: dict[SlugKey, Future[Resolution]] = {}
        self._redis_after = 0.0
        self._untold: set[str] = set()
        self._readers = threading.BoundedSemaphore(SQL_READERS)
        self._starting = threading.Lock()
        self._is_listening = False

    def resolve(self, slug: str, host_id: int | None = None) -> Resolution:
        """Where the slug leads now under our own host, or a company's; raises when no store can
        tell.
        """
        asked = slug if host_id is None else (host_id, slug)
        entry = self._fresh.get(asked)
        if entry is None or entry[0] <= time.monotonic():
            return self._look_up(slug, host_id)
        return self._now(entry[1])

    def _now(self, outcome: Resolution) -> Resolution:
        if not isinstance(outcome, LinkTarget):
            return outcome
        known = self._stops.stopped
        if known and (outcome.company_id in known or outcome.batch in known):
            return outcome.gone()
        if outcome.expires_at and outcome.expires_at <= time.time():
            return outcome.expired()
        return outcome

    def _look_up(self, text: str, host_id: int | None) -> Resolution:
        slug = slugs.repair(text)
        if slug is None:
            return NOT_FOUND
        if slug != text:
            return self.resolve(slug, host_id)
        if not self._is_listening:
            self._start()
        self._stops.ensure_loaded()
        return self._now(self._find(slug, host_id))

    def _find(self, slug: str, host_id: int | None) -> Resolution:
        """However many ask at once, one goes and looks."""
        asked = slug if host_id is None else (host_id, slug)
        mine: Future[Resolution] = Future()
        flight = self._flights.setdefault(asked, mine)
        if flight is not mine:
            return flight.result(SINGLE_FLIGHT_TIMEOUT)
        try:
            row = self._row(slug, host_id)
            outcome = row.resolution() if row else NOT_FOUND
            if self._flights.get(asked) is mine:  # nothing has changed since we asked
                self._keep(asked, outcome)
            mine.set_result(outcome)
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            if self._flights.get(asked) is mine:
                self._flights.pop(asked, None)
        return outcome

    def _keep(self, asked: SlugKey, outcome: Resolution) -> None:
        if len(self._fresh) >= CACHE_SIZE:
            self._fresh.clear()
        self._fresh[asked] = time.monotonic() + CACHE_TTL, outcome

    def clear(self) -> None:
        """Nothing that was asked before this moment is believed after it."""
        self._flights.clear()
        self._fresh.clear()

    def _row(self, slug: str, host_id: int | None) -> CachedRow | None:
        exact, folded = short_hosts.key(host_id, slug), short_hosts.key(host_id, slug.lower())
        keys = list(dict.fromkeys((exact, folded)))
        known = self._ask_redis(keys)
        if known.get(exact) is None and len(known) < len(keys):
            known = self._ask_sql(keys)
            self._tell_redis(known)
        alias = known.get(folded)
        return known[exact] or (alias if alias and alias.is_alias else None)

    def _ask_redis(self, keys: list[str]) -> dict[str, CachedRow | None]:
        if time.monotonic() < self._redis_after:
            return {}
        try:
            return redis_cache.read(keys)
        except (RedisError, OSError):
            self._redis_after = time.monotonic() + REDIS_BACKOFF
            return {}

    def _ask_sql(self, keys: list[str]) -> dict[str, CachedRow | None]:
        if not self._readers.acquire(timeout=SQL_READER_TIMEOUT):
            raise TimeoutError("every reader of links is busy")
        try:
            with pooled_connection(), connection.cursor() as cursor:
                cursor.execute(cached_row.SELECT, [keys[0], keys[-1]])
                found = {key: cached_row.from_sql(rest) for key, *rest in cursor.fetchall()}
        finally:
            self._readers.release()
        return {key: found.get(key) for key in keys}

    def _tell_redis(self, known: Mapping[str, CachedRow | None]) -> None:
        if time.monotonic() < self._redis_after:
            return
        try:
            redis_cache.store(known)
        except (RedisError, OSError):
            self._redis_after = time.monotonic() + REDIS_BACKOFF

    def cache_new(self, *links: Link) -> None:
        """Call after links with a name of their own are committed: somebody may have asked for
        that name before, and been told 404. Their first visitors need no SQL. Never raises.
        """
        try:
            if redis_cache.store_new(links):  # others may still hold what they were told too early
                redis_client().publish(CHANNEL, b"")
        except (RedisError, OSError):
            self._redis_after = time.monotonic() + REDIS_BACKOFF
        for link in links:
            for slug in (link.slug, link.slug.lower()):
                self._fresh.pop(slug if link.host_id is None else (link.host_id, slug), None)

    def invalidate_before_commit(self, *links: Link) -> None:
        """Call before a change to links is committed: a process that dies between its commit and
        `forget` leaves no old row in Redis. Never raises.
        """
        try:
            redis_cache.invalidate(links)
        except (RedisError, OSError):
            self._redis_after = time.monotonic() + REDIS_BACKOFF

    def invalidate_after_commit(self, *links: Link) -> None:
        """Call after a change to links is committed. Never raises; repeated until it is told."""
        self._untold.update(link.key for link in links)
        is_told = self._tell_changes()
        self.clear()  # after Redis, or a reader would fetch the old row once more
        if not is_told:
            self._start()

    def publish_stop_change(self) -> None:
        """Call after a change to what is stopped is committed. Never raises; repeated likewise."""
        self._stops.refresh()
        self._untold.add("")
        if not self._tell_changes():
            self._start()

    def _tell_changes(self) -> bool:
        keys = list(self._untold)
        if not keys:
            return True
        try:
            with redis_client().pipeline(transaction=False) as pipe:
                redis_cache.queue_invalidation(pipe, list(filter(None, keys)))
                pipe.publish(CHANNEL, STOPS_CHANGED if "" in keys else b"")
                pipe.execute()
        except (RedisError, OSError):
            return False
        self._untold.difference_update(keys)
        return True

    def _start(self) -> None:
        with self._starting:
            if not self._is_listening:
                self._is_listening = True
                threading.Thread(target=self._listen, name="links", daemon=True).start()

    def _listen(self) -> None:
        while True:
            client = blocking_redis_client()
            try:
                with PubSub(client.connection_pool) as changes:
                    changes.subscribe(CHANNEL)
                    self._hear(changes)
            except (RedisError, OSError):
                pass
            self._stops.refresh()
            time.sleep(RECONNECT_DELAY)

    def _hear(self, changes: PubSub) -> None:
        """Until there is a change that Redis cannot be told, or no sign of it."""
        heard_at = read_at = time.monotonic()
        while self._tell_changes():
            message = changes.get_message(timeout=REDIS_BACKOFF)
            if message:
                heard_at = time.monotonic()
                self._heed(message)
            elif time.monotonic() - heard_at > SILENCE_TIMEOUT:
                raise RedisSilentError("no sign of Redis")
            else:
                changes.ping()
            if time.monotonic() - read_at >= STOPS_REFRESH_INTERVAL:
                self._stops.refresh()
                read_at = time.monotonic()

    def _heed(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "message":
            self.clear()
        if message["type"] == "subscribe" or message["data"] == STOPS_CHANGED:
            self._stops.refresh()


_stops = StopCache()
os.register_at_fork(after_in_child=_stops.reset)
_resolver = Resolver()
os.register_at_fork(after_in_child=_resolver.reset)
resolve, cache_new = _resolver.resolve, _resolver.cache_new
invalidate_before_commit, invalidate_after_commit, publish_stop_change = (
    _resolver.invalidate_before_commit,
    _resolver.invalidate_after_commit,
    _resolver.publish_stop_change,
)
