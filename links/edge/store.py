"""Finds a link's row: in the replica, then at the origin.

While the replica lags behind, the origin is asked first, and the replica serves what it has when
the origin does not answer.
"""

from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from links.addresses import short_hosts
from links.edge.misses import VisitorMisses
from links.edge.origin import Origin
from links.edge.replica import Replica
from links.follow.cached_row import CachedRow, choose, is_decided
from links.follow.responder import TooManyMissesError, UnresolvedError

visitor: ContextVar[Mapping[str, Any]] = ContextVar("visitor")


class EdgeStore:
    def __init__(self, replica: Replica, origin: Origin, misses: VisitorMisses) -> None:
        self._replica, self._origin, self._misses = replica, origin, misses

    def reset(self) -> None:
        """Every process makes its own."""

    def read(self, slug: str, host_id: int | None) -> CachedRow | None:
        exact, folded = short_hosts.key(host_id, slug), short_hosts.key(host_id, slug.lower())
        rows = self._replica.read([exact, folded])
        if not is_decided(rows, exact, folded):
            return self._ask_origin(slug, host_id)
        if not self._replica.is_current:
            with suppress(UnresolvedError, TooManyMissesError):
                return self._ask_origin(slug, host_id)
        return choose(rows, exact, folded)

    def _ask_origin(self, slug: str, host_id: int | None) -> CachedRow | None:
        if wait := self._misses.seconds_to_wait(visitor.get()):
            raise TooManyMissesError(wait)
        return self._origin.find(slug, host_id)
