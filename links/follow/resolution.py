"""Resolves a slug to its target, and makes changes to links known.

A link is looked for in this process (`slug_cache`, a second old at most), in Redis, then in
PostgreSQL (`link_store`). Other processes' changes arrive through `change_feed`.
"""

import os
from functools import partial

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
from links.follow.change_feed import ChangeFeed
from links.follow.link_store import LinkStore
from links.follow.resolver import SlugResolver, is_among, slug_key
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


class Resolver(SlugResolver):
    _stops: StopCache
    _store: LinkStore
    _feed: ChangeFeed

    def __init__(self, stops: StopCache | None = None, store: LinkStore | None = None) -> None:
        stops = stops or _stops
        super().__init__(stops, store or LinkStore(), partial(ChangeFeed, stops=stops))

    def current_row(self, slug: str, host_id: int | None) -> CachedRow | None:
        """As the stores have it, for an edge, which may not know the stops: dead if it is stopped.
        Raises when no store can tell.
        """
        self.listen()
        self._stops.ensure_loaded()
        row = self._store.read(slug, host_id)
        if row is None or not is_among(row.target, self._stops.value):
            return row
        return row._replace(target=row.target._replace(url=""))

    def cache_new(self, *links: Link) -> None:
        """Call after links with an alias are committed: somebody may have asked for that alias
        before, and got a 404. Their first visitors need no SQL. Never raises.
        """
        self._store.store_new(links)
        for link in links:
            for slug in (link.slug, link.slug.lower()):
                self._cache.discard(slug_key(slug, link.host_id))

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


_stops = StopCache()
_resolver = Resolver()
os.register_at_fork(after_in_child=_resolver.reset)
current_row = _resolver.current_row
resolve, known = _resolver.resolve, _resolver.known
listen, cache_new = _resolver.listen, _resolver.cache_new
invalidate_before_commit = _resolver.invalidate_before_commit
invalidate_after_commit = _resolver.invalidate_after_commit
publish_stop_change = _resolver.publish_stop_change
