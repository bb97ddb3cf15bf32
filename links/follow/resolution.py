"""Resolves a slug to its target, and makes changes to links known.

A link is looked for in this process (`process_cache`, a second old at most), in Redis, then in
PostgreSQL (`link_store`). Expiry and stops are checked on every hit, wherever it was found. Other
processes' changes arrive through `change_feed`.
"""

import os
import time

from links.addresses import slugs
from links.follow.cached_row import NOT_FOUND, LinkTarget, Resolution
from links.follow.change_feed import ChangeFeed
from links.follow.link_store import LinkStore
from links.follow.process_cache import SlugCache, SlugKey, StopCache
from links.models import Link


class Resolver:
    def __init__(self, stops: StopCache | None = None, store: LinkStore | None = None) -> None:
        self._stops, self._store = stops or _stops, store or LinkStore()
        self.reset()

    def reset(self) -> None:
        """A forked child starts empty: it inherits no thread, and locks in any state."""
        self._store.reset()
        self._cache = SlugCache()
        self._feed = ChangeFeed(self._cache, self._stops)

    def resolve(self, text: str, host_id: int | None = None) -> Resolution:
        """Where the slug of this path leads now, under our own host or a company's; raises when no
        store can tell.
        """
        slug = slugs.repair(text)
        if slug is None:
            return NOT_FOUND
        known = self.known(slug, host_id)
        return self._look_up(slug, host_id) if known is None else known

    def known(self, slug: str, host_id: int | None = None) -> Resolution | None:
        """The same if this process has it cached, else None."""
        entry = self._cache.entries.get(slug if host_id is None else (host_id, slug))
        if entry is None or entry[0] <= time.monotonic():
            return None
        return self._current(entry[1])

    def _current(self, resolution: Resolution) -> Resolution:
        if not isinstance(resolution, LinkTarget):
            return resolution
        stopped = self._stops.value
        if stopped and (resolution.company_id in stopped or resolution.batch in stopped):
            return resolution.gone()
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
        """Call after links with an alias are committed: somebody may have asked for that alias
        before, and got a 404. Their first visitors need no SQL. Never raises.
        """
        self._store.store_new(links)
        for link in links:
            for slug in (link.slug, link.slug.lower()):
                self._cache.discard(_slug_key(slug, link.host_id))

    def invalidate_before_commit(self, *links: Link) -> None:
        """Call before a change to links is committed: a process that dies between its commit and
        `invalidate_after_commit` leaves no old row in Redis. Never raises.
        """
        self._store.invalidate(links)

    def invalidate_after_commit(self, *links: Link) -> None:
        """Call after a change to links is committed. Never raises; repeated until published."""
        self._feed.publish_links([link.key for link in links])
        self._cache.clear()  # after Redis, or a reader would fetch the old row once more

    def publish_stop_change(self) -> None:
        """Call after a change to stops is committed. Never raises; repeated likewise."""
        self._stops.refresh()
        self._feed.publish_stops()


def _slug_key(slug: str, host_id: int | None) -> SlugKey:
    return slug if host_id is None else (host_id, slug)


_stops = StopCache()
_resolver = Resolver()
os.register_at_fork(after_in_child=_resolver.reset)
resolve, known, cache_new = _resolver.resolve, _resolver.known, _resolver.cache_new
invalidate_before_commit = _resolver.invalidate_before_commit
invalidate_after_commit = _resolver.invalidate_after_commit
publish_stop_change = _resolver.publish_stop_change
