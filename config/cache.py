"""Redis as a cache that may be away."""

from typing import Any

import redis
import structlog
from django.core.cache.backends.redis import RedisCache

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
