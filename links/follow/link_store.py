"""Finds a link's row: in Redis, then in PostgreSQL. After a failure Redis is left alone a while.

Reads of PostgreSQL have a bulkhead: they take a few connections of the process's pool at most.
"""

import threading
from collections.abc import Collection, Mapping

from redis.exceptions import RedisError

from links.addresses import short_hosts
from links.follow import cached_row, change_feed
from links.follow.cached_row import CachedRow, SelectedLink, choose, is_decided
from links.models import Link
from storage.redis_client import BackOff
from storage.statements.single_statement import fetch_rows

SQL_READERS = 4  # of the process's pool of connections; the rest are for writers
SQL_READER_TIMEOUT = 1.0  # seconds


class LinkStore:
    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """A forked child inherits locks in any state."""
        self._back_off = BackOff()
        self._sql_readers = threading.BoundedSemaphore(SQL_READERS)

    def read(self, slug: str, host_id: int | None) -> CachedRow | None:
        """The row with exactly this slug, else the alias that differs from it in case alone."""
        exact, folded = short_hosts.key(host_id, slug), short_hosts.key(host_id, slug.lower())
        keys = list(dict.fromkeys((exact, folded)))
        rows = self._read_redis(keys)
        if not is_decided(rows, exact, folded):
            rows = self._read_sql(keys)
            self._write_redis(rows)
        return choose(rows, exact, folded)

    def _read_redis(self, keys: list[str]) -> dict[str, CachedRow | None]:
        if self._back_off.is_active:
            return {}
        try:
            return cached_row.read(keys)
        except (RedisError, OSError):
            self._back_off.start()
            return {}

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
        if self._back_off.is_active:
            return
        try:
            cached_row.store(rows)
        except (RedisError, OSError):
            self._back_off.start()

    def store_new(self, links: Collection[Link]) -> None:
        """Never raises."""
        try:
            if cached_row.store_new(links):  # other processes may still hold the 404
                change_feed.publish_link_change()
        except (RedisError, OSError):
            self._back_off.start()

    def invalidate(self, links: Collection[Link]) -> None:
        """Never raises."""
        try:
            cached_row.invalidate(links)
        except (RedisError, OSError):
            self._back_off.start()
