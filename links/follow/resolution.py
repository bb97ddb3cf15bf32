"""Resolves a slug to its target, and publishes changes of links.

A link is looked up in this process, whose copy is at most a second old, in Redis, which is skipped
for a while after a failure, then in PostgreSQL. Expiry and stops are checked on every hit, in
whichever store. Other processes' changes arrive through `change_feed`.
"""

import os
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from redis.exceptions import RedisError

from links.addresses import mistyped_slugs, short_hosts
from links.follow import cached_row, change_feed
from links.follow.cached_row import (
    NOT_FOUND,
    CachedRow,
    LinkTarget,
    Resolution,
    SelectedLink,
    choose,
    is_decided,
)
from links.follow.change_feed import ChangeFeed, SlugCache, SlugKey, StopCache
from links.models import Link
from storage.redis_client import BackOff
from storage.statements.single_statement import fetch_rows

# seconds that a slug is cached in this process; maximum number of slugs
TTL = 1.0
MAX_SLUGS = 50_000
SQL_READERS = 4  # connections of the process's pool; the rest are for writers
SQL_READER_TIMEOUT = 1.0  # seconds
_stops = StopCache()


class LinkStore:
    """Reads links from Redis, and from PostgreSQL through a bulkhead of a few connections."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._back_off = BackOff()
        self._sql_readers = threading.BoundedSemaphore(SQL_READERS)

    def read(self, slug: str, host_id: int | None) -> CachedRow | None:
        """The row with exactly this slug, or else an alias that differs from it only in case."""
        exact = short_hosts.key(host_id, slug)
        folded = short_hosts.key(host_id, slug.lower())
        keys = list(dict.fromkeys((exact, folded)))
        rows = self._read_redis(keys)
        if not is_decided(rows, exact, folded):
            rows = self._read_sql(keys)
            self._write_redis(rows)
        return choose(rows, exact, folded)

    @contextmanager
    def _redis(self) -> Iterator[None]:
        """Swallows Redis's errors and leaves Redis alone for a while after one."""
        try:
            yield
        except (RedisError, OSError):
            self._back_off.start()

    def _read_redis(self, keys: list[str]) -> dict[str, CachedRow | None]:
        rows: dict[str, CachedRow | None] = {}
        if not self._back_off.is_active:
            with self._redis():
                rows = cached_row.read(keys)
        return rows

    def _read_sql(self, keys: list[str]) -> dict[str, CachedRow | None]:
        if not self._sql_readers.acquire(timeout=SQL_READER_TIMEOUT):
            raise TimeoutError("every reader of links is busy")
        try:
            links = fetch_rows(cached_row.SELECT, [keys[0], keys[-1]], SelectedLink)
        finally:
            self._sql_readers.release()
        rows = {link.key: cached_row.from_sql(link) for link in links}
        return {key: rows.get(key) for key in keys}

    def _write_redis(self, rows: Mapping[str, CachedRow | None]) -> None:
        if not self._back_off.is_active:
            with self._redis():
                cached_row.store(rows)

    def store_new(self, links: Collection[Link]) -> None:
        with self._redis():
            if cached_row.store_new(links):  # other processes may still hold the 404
                change_feed.publish_link_change()

    def invalidate(self, links: Collection[Link]) -> None:
        with self._redis():
            cached_row.invalidate(links)


class Resolver:
    def __init__(self, stops: StopCache | None = None, store: LinkStore | None = None) -> None:
        self._stops = stops or _stops
        self._store = store or LinkStore()
        self.reset()

    def reset(self) -> None:
        """Starts empty, as in a forked child: it inherits no thread, and locks in any state."""
        self._store.reset()
        self._cache = SlugCache(TTL, MAX_SLUGS)
        self._feed = ChangeFeed(self._cache, self._stops)

    def resolve(self, text: str, host_id: int | None = None) -> Resolution:
        """The current target of this path's slug, under our own host or a company's.

        Raises if no store responds.
        """
        slug = mistyped_slugs.repair(text)
        if slug is None:
            return NOT_FOUND
        cached = self.cached(slug, host_id)
        return self._look_up(slug, host_id) if cached is None else cached

    def cached(self, slug: str, host_id: int | None = None) -> Resolution | None:
        """The resolution of `slug` in this process's cache, or None."""
        entry = self._cache.entries.get(slug if host_id is None else (host_id, slug))
        if entry is None or entry[0] <= time.monotonic():
            return None
        return self._current(entry[1])

    def _current(self, resolution: Resolution) -> Resolution:
        if not isinstance(resolution, LinkTarget):
            return resolution
        stopped = self._stops.value
        if stopped and (resolution.company_id in stopped or resolution.batch in stopped):
            return resolution.without_target()
        if resolution.expires_at and resolution.expires_at <= time.time():
            return resolution.expired()
        return resolution

    def _look_up(self, slug: str, host_id: int | None) -> Resolution:
        if not self._feed.is_listening:
            self._feed.start()
        self._stops.ensure_loaded()
        key = _slug_key(slug, host_id)
        return self._current(self._cache.load(key, lambda: self._read(slug, host_id)))

    def _read(self, slug: str, host_id: int | None) -> Resolution:
        row = self._store.read(slug, host_id)
        return row.resolution() if row else NOT_FOUND

    def cache_new(self, *links: Link) -> None:
        """Caches new links after their commit, so that their first visitors need no SQL.

        Somebody may have requested an alias before, and got a 404. Never raises.
        """
        self._store.store_new(links)
        for link in links:
            for slug in (link.slug, link.slug.lower()):
                self._cache.discard(_slug_key(slug, link.host_id))

    def invalidate_before_commit(self, *links: Link) -> None:
        """Invalidates links before a change to them is committed; never raises.

        A process that dies between its commit and `invalidate_after_commit` leaves no old row in
        Redis.
        """
        self._store.invalidate(links)

    def invalidate_after_commit(self, *links: Link) -> None:
        """Invalidates links after a change is committed. Never raises; repeated until published."""
        self._feed.publish_links([link.key for link in links])
        # After Redis, because a reader could otherwise fetch the old row once more.
        self._cache.clear()

    def are_stopped(self, company_id: int) -> bool:
        """Whether all links of the company are stopped, as of five seconds ago at most."""
        return company_id in self._stops.get()

    def publish_stop_change(self) -> None:
        """Publishes a change to stops after its commit. Never raises; repeated until published."""
        self._stops.refresh()
        self._feed.publish_stops()


def _slug_key(slug: str, host_id: int | None) -> SlugKey:
    return slug if host_id is None else (host_id, slug)


_resolver = Resolver()
os.register_at_fork(after_in_child=_resolver.reset)
resolve = _resolver.resolve
cached = _resolver.cached
cache_new = _resolver.cache_new
invalidate_before_commit = _resolver.invalidate_before_commit
invalidate_after_commit = _resolver.invalidate_after_commit
are_stopped = _resolver.are_stopped
publish_stop_change = _resolver.publish_stop_change
