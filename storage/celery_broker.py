"""Celery's transport over Redis, on connections that notice when Redis is no longer a master."""

from typing import Any

import redis
from django.conf import settings
from kombu.transport import redis as kombu_redis

from storage import redis_address, redis_connections

SENTINEL_TIMEOUT = 0.3  # seconds, like the cap of every publish
_TCP_ONLY = {"host", "port", "socket_keepalive", "socket_keepalive_options"}


class Channel(kombu_redis.Channel):
    """kombu's channel on our connections; kombu's own neither check the role nor use `unix://`.

    Without a timeout a worker would wait forever for a server that hangs. The timeout is longer
    than the second for which a worker blocks on its queue; publishers have that of
    `config.celery.CAPPED`.
    """

    socket_timeout = 5.0
    socket_connect_timeout = 1.0

    def _get_pool(self, asynchronous: bool = False) -> redis.ConnectionPool:
        if getattr(self.connection, "client", None) is None:
            # The connection was closed while a task ran. kombu would raise AttributeError, which
            # ends Celery's worker; after this error Celery reconnects.
            raise redis.ConnectionError("the connection to the broker is closed")
        address = redis_address.parse(settings.BROKER_URL, variable="CELERY_BROKER_URL")
        self.connection_class = redis_connections.connection_class(address)
        options: dict[str, Any] = self._connparams(asynchronous)  # type: ignore[attr-defined]
        if address.scheme == redis_address.UNIX:
            options = {name: value for name, value in options.items() if name not in _TCP_ONLY}
        self.keyprefix_fanout = self.keyprefix_fanout.format(db=address.options["db"])
        master = redis_connections.connection_options(address, SENTINEL_TIMEOUT)
        return redis.ConnectionPool(**options | master)


class Transport(kombu_redis.Transport):
    Channel = Channel
