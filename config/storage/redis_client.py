"""One Redis client per process and purpose: short timeouts, no retries."""

import threading
import time
from functools import cache
from typing import Any

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry


def _client(timeout: float | None, connect: float) -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=timeout,
        socket_connect_timeout=connect,
        retry=Retry(NoBackoff(), 0),
        health_check_interval=0,
    )


@cache
def redis_client() -> redis.Redis:
    """For the request path: a reply within 50 ms, or an error."""
    return _client(settings.REDIS_TIMEOUT, settings.REDIS_TIMEOUT)


@cache
def blocking_redis_client() -> redis.Redis:
    """For background threads that block on a list or a subscription."""
    return _client(5.0, 0.3)


class BackOff:
    """Leaves Redis alone for a while after a failure, for each request would wait for a timeout."""

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


class _ThreadState(threading.local):
    client: redis.Redis | None = None
    connection: Any = None


_thread_state = _ThreadState()


def call(*command: str | int) -> Any:
    """One command within 50 ms on a connection that this thread keeps; raises RedisError.

    For the request path: the client's pool, retries and callbacks cost three times as much.
    """
    client = redis_client()
    if _thread_state.client is not client:
        pool = client.connection_pool
        _thread_state.connection, _thread_state.client = (
            pool.connection_class(**pool.connection_kwargs),
            client,
        )
    if not _is_clean(_thread_state.connection):
        _thread_state.connection.disconnect()
    _thread_state.connection.send_command(*command)
    return _thread_state.connection.read_response()


def _is_clean(connection: Any) -> bool:
    """Nothing to read before we send: the server did not close the idle connection."""
    try:
        return not connection.can_read()
    except (redis.RedisError, OSError):
        return False
