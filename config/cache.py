"""Two uses of Redis as a cache: one that may be away, and one that is counted with."""

from typing import Any

import redis
import structlog
from django.core.cache.backends.redis import RedisCache, RedisCacheClient

log = structlog.get_logger(__name__)


class ForgivingRedisCache(RedisCache):
    """While Redis fails, nothing is found and everything is accepted.

    `add` then says True: those who count tries with it must not wait for a lock that never comes.
    What has to be exact (the API's rate, the send limits) does not use this cache.
    """

    def add(self, *args: Any, **kwargs: Any) -> bool:
        return bool(self._forgiving(super().add, True, *args, **kwargs))

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        return self._forgiving(super().get, default, key, default, version)

    def set(self, *args: Any, **kwargs: Any) -> None:
        self._forgiving(super().set, None, *args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> bool:
        return bool(self._forgiving(super().delete, False, *args, **kwargs))

    def _forgiving(self, call: Any, instead: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return call(*args, **kwargs)
        except redis.RedisError as error:
            log.warning("cache_away", error=type(error).__name__)
            return instead


class CountingClient(RedisCacheClient):
    """Django makes a client for every command, and asks whether a key exists before each `incr`;
    the API's rate counts every request, where that is half its cost.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._reused: Any = None

    def get_client(self, key: Any = None, *, write: bool = False) -> Any:
        if self._reused is None:
            self._reused = super().get_client(key, write=True)
        return self._reused

    def incr(self, key: Any, delta: int) -> int:
        client = self.get_client(key)
        value = int(client.incr(key, delta))
        if value == delta:  # it had run out, and what was made now has no end
            client.delete(key)
            raise ValueError(f"Key '{key}' not found.")
        return value


class CountingCache(RedisCache):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._class = CountingClient
