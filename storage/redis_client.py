"""One Redis client per process and purpose: short timeouts, no retries."""

import threading
import time
from collections.abc import Sequence
from functools import cache
from typing import Any

import hiredis
import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.exceptions import NoPermissionError
from redis.retry import Retry

from processes.process_state import on_reset
from storage import redis_address, redis_connections
from storage.redis_connections import ServerRefusalError


def _client(timeout: float | None, connect: float) -> redis.Redis:
    pool = redis_connections.pool(
        redis_address.parse(settings.REDIS_URL),
        socket_timeout=timeout,
        connect_timeout=connect,
        retry=Retry(NoBackoff(), 0),
        health_check_interval=0,
        on_refusal=_drop_connections,
    )
    return redis.Redis(connection_pool=pool)


@cache
def redis_client() -> redis.Redis:
    """The client of the request path: a reply within 50 ms, or an error."""
    return _client(settings.REDIS_TIMEOUT, settings.REDIS_TIMEOUT)


on_reset(redis_client.cache_clear)


@cache
def blocking_redis_client() -> redis.Redis:
    """The client of background threads that block on a list or a subscription."""
    return _client(5.0, 0.3)


class BackOff:
    """Skips Redis for a while after a failure: otherwise each request would wait for a timeout."""

    SECONDS = 1.0

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._until = 0.0

    @property
    def is_active(self) -> bool:
        return time.monotonic() < self._until

    def start(self) -> None:
        self._until = time.monotonic() + self.SECONDS


_refusals = 0  # so far, of all connections of this process


def _drop_connections() -> None:
    """Drops all connections after a refusal: each would otherwise fail once more."""
    global _refusals  # noqa: PLW0603 - threads drop their own connections when it has changed
    _refusals += 1
    for client in (redis_client(), blocking_redis_client()):
        client.connection_pool.disconnect(inuse_connections=False)


def raise_if_demoted() -> None:
    """Raises if the server was demoted, for subscribers.

    A replica keeps their connections open but sends nothing.
    """
    try:
        role = redis_client().role()
    except ServerRefusalError as error:
        if isinstance(error.__cause__, NoPermissionError):
            return
        raise
    except redis.RedisError:  # slow: the caller notices silence itself
        return
    if redis_connections.is_replica(role):
        _drop_connections()
        raise ServerRefusalError("a replica")


Command = Sequence[str | bytes | int]
_pack: Any = hiredis.pack_command  # its stub only has commands of one word


class _ThreadConnection(threading.local):
    """A connection that each thread keeps to the server of a client.

    The client's pool, retries and callbacks cost two to three times as much.
    """

    client: redis.Redis | None = None
    connection: Any = None
    refusals: int = 0

    def exchange(self, client: redis.Redis, commands: Sequence[Command]) -> list[Any]:
        """The replies, in one round trip; raises RedisError."""
        if self.client is not client:
            pool = client.connection_pool
            self.connection = pool.connection_class(**pool.connection_kwargs)
            self.client = client
        if self.refusals != _refusals or not _is_clean(self.connection):
            self.connection.disconnect()
            self.refusals = _refusals
        packed = b"".join(_pack(tuple(command)) for command in commands)
        self.connection.send_packed_command([packed])
        try:
            return [self.connection.read_response() for _ in commands]
        except redis.ResponseError:
            if len(commands) > 1:  # a reply still to come would be taken for the next command's
                self.connection.disconnect()
            raise


_connection = _ThreadConnection()
_blocking_connection = _ThreadConnection()


def call(*command: str | bytes | int) -> Any:
    """Runs a command within 50 ms; raises RedisError."""
    return _connection.exchange(redis_client(), [command])[0]


def blocking_call(*command: str | bytes | int) -> Any:
    """Runs a command that may block, for background threads, which keep a connection for it."""
    return _blocking_connection.exchange(blocking_redis_client(), [command])[0]


def call_together(*commands: Command) -> list[Any]:
    """The replies to several commands, in one round trip within 50 ms; raises RedisError."""
    return _connection.exchange(redis_client(), commands)


def _is_clean(connection: Any) -> bool:
    """Whether nothing waits to be read: the server has not closed the idle connection."""
    if not connection.is_connected:  # can_read() would connect, and retry that
        return True
    try:
        return not connection.can_read()
    except (redis.RedisError, OSError):
        return False
