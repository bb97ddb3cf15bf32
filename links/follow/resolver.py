"""Resolves a slug to its target, wherever links are read from.

Expiry and stops are checked on every hit, wherever it was found.
"""

import time
from collections.abc import Callable
from typing import Protocol

from links.addresses import slugs
from links.follow.cached_row import NOT_FOUND, CachedRow, LinkTarget, Resolution
from links.follow.slug_cache import SlugCache, SlugKey
from links.follow.stop_cache import Stopped


class Stops(Protocol):
    @property
    def value(self) -> Stopped: ...
    def ensure_loaded(self) -> None: ...


class Store(Protocol):
    def reset(self) -> None: ...
    def read(self, slug: str, host_id: int | None) -> CachedRow | None: ...


class Feed(Protocol):
    """Clears the cache when a link changes."""

    is_listening: bool

    def start(self) -> None: ...


class SlugResolver:
    """`make_feed` makes the feed of a process for its cache."""

    def __init__(self, stops: Stops, store: Store, make_feed: Callable[[SlugCache], Feed]) -> None:
        self._stops, self._store, self._make_feed = stops, store, make_feed
        self.reset()

    def reset(self) -> None:
        """A forked child starts anew: it inherits no thread, and locks in any state."""
        self._store.reset()
        self._cache = SlugCache()
        self._feed = self._make_feed(self._cache)

    def resolve(self, slug: str, host_id: int | None = None) -> Resolution:
        """Where the slug leads now, under our own host or a company's; raises when no store can
        tell.
        """
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
        if stopped and is_among(resolution, stopped):
            return resolution.gone()
        if resolution.expires_at and resolution.expires_at <= time.time():
            return resolution.expired()
        return resolution

    def _look_up(self, text: str, host_id: int | None) -> Resolution:
        slug = slugs.repair(text)
        if slug is None:
            return NOT_FOUND
        if slug != text:
            return self.resolve(slug, host_id)
        self.listen()
        self._stops.ensure_loaded()
        key = slug_key(slug, host_id)
        return self._current(self._cache.load(key, lambda: self._read(slug, host_id)))

    def listen(self) -> None:
        """Starts the feed, unless it has started."""
        if not self._feed.is_listening:
            self._feed.start()

    def _read(self, slug: str, host_id: int | None) -> Resolution:
        row = self._store.read(slug, host_id)
        return row.resolution() if row else NOT_FOUND


def is_among(link: LinkTarget, stopped: Stopped) -> bool:
    return link.company_id in stopped or link.batch in stopped


def slug_key(slug: str, host_id: int | None) -> SlugKey:
    return slug if host_id is None else (host_id, slug)
