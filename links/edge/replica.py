"""The Redis replica beside an edge: the rows, stops and hosts that it knows, and how old they are.

The origin stamps its copy of the stops whenever it has read them, about once a second. Nothing of a
replica is used whose stamp is older than `max_staleness`: a link may have been stopped since.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.connection import Connection, SSLConnection, UnixDomainSocketConnection
from redis.exceptions import RedisError
from redis.retry import Retry

from config.environment import redis_address
from config.storage.redis_client import BackOff
from links.addresses import short_hosts
from links.addresses.short_hosts import Host
from links.follow import cached_row, stop_cache
from links.follow.cached_row import CachedRow
from links.follow.stop_cache import Stopped

MAX_LAG = 5.0  # seconds: older, it is second to the origin
_COPIES = (stop_cache.REDIS_COPY, stop_cache.COPIED_AT, short_hosts.REDIS_COPY)
_CLASSES: Mapping[str, Any] = {
    redis_address.TCP: Connection,
    redis_address.TLS: SSLConnection,
    redis_address.UNIX: UnixDomainSocketConnection,
}


def client(url: str, timeout: float) -> redis.Redis:
    """Unlike our other connections it serves a replica, too."""
    address = redis_address.parse(url, variable="EDGE_REPLICA_URL")
    pool = redis.ConnectionPool(
        connection_class=_CLASSES[address.scheme],
        socket_timeout=timeout,
        socket_connect_timeout=timeout,
        retry=Retry(NoBackoff(), 0),
        **address.options,
    )
    return redis.Redis(connection_pool=pool)


class Replica:
    """`stops` as a resolver wants them; without a fresh replica the origin judges stops itself."""

    def __init__(self, url: str, *, timeout: float, max_staleness: float) -> None:
        self.blocking = client(url, 5.0)
        self._client = client(url, timeout)
        self._max_staleness = max_staleness
        self._back_off = BackOff()
        self._copied_at = 0.0  # Unix time
        self._copied_stops: Stopped = frozenset()
        self.stops = ReplicaStops()
        self.hosts: Mapping[str, Host] | None = None  # None: not known yet
        self.is_fresh = False

    @property
    def is_current(self) -> bool:
        return self.staleness <= MAX_LAG

    @property
    def staleness(self) -> float:
        """Seconds since the origin read what this replica knows; infinite before the first copy."""
        return max(0.0, time.time() - self._copied_at) if self._copied_at else float("inf")

    def refresh(self) -> None:
        """Reads the copies; never raises. What was read last is in force until it is too old."""
        try:
            stops, copied_at, hosts = self._read_copies()
        except (RedisError, OSError):
            self._back_off.start()
        else:
            self._copied_at = int(copied_at or 0) / 1000
            self._copied_stops = stop_cache.unpack(stops or b"")
            if hosts is not None:
                self.hosts = short_hosts.unpack(hosts)
        self.is_fresh = self.staleness <= self._max_staleness
        self.stops.value = self._copied_stops if self.is_fresh else frozenset()

    def _read_copies(self) -> Any:
        return self._client.mget(_COPIES)

    def read(self, keys: Sequence[str]) -> dict[str, CachedRow | None]:
        """The rows that it has; none without a fresh replica."""
        if not self.is_fresh or self._back_off.is_active:
            return {}
        try:
            values: Any = self._client.mget(map(cached_row.redis_key, keys))
        except (RedisError, OSError):
            self._back_off.start()
            return {}
        return cached_row.unpack_all(keys, values)


class ReplicaStops:
    value: Stopped = frozenset()

    def ensure_loaded(self) -> None:
        """Before they are, no row of the replica is used."""
