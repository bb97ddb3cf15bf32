"""A database connection that closes if its server died or is no longer the primary.

After a failover a connection may reach the old primary, now a standby, through a proxy that has not
noticed yet. There every SELECT would succeed and every write fail, for the connection's whole life.
"""

import time
from collections.abc import Generator
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg.errors import ReadOnlySqlTransaction
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool

T = TypeVar("T")
_drained_at: WeakKeyDictionary[ConnectionPool[Any], float] = WeakKeyDictionary()


class NotPrimaryError(psycopg.OperationalError):
    """The server only reads, so the statement did nothing; another connection may succeed."""


class PrimaryConnection(psycopg.Connection[TupleRow]):
    """A connection that empties the pool when it breaks: the others would fail too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._opened_at = time.monotonic()

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        """Waits for a statement's result; psycopg runs every statement through this method."""
        try:
            return super().wait(gen, *args, **kwargs)
        except ReadOnlySqlTransaction as error:
            self._leave()
            raise NotPrimaryError(str(error)) from error
        except psycopg.OperationalError:
            if self.broken:
                self._leave()
            raise

    def _leave(self) -> None:
        self.close()
        pool: Any = self._pool
        # When many connections fail together, the first empties the pool; the others would close
        # connections opened since.
        if pool is not None and self._opened_at > _drained_at.get(pool, 0.0):
            _drained_at[pool] = time.monotonic()
            pool.drain()
