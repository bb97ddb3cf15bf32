"""Django's cache in Redis over our own client, for the request rates of API keys."""

from typing import Any

from django.core.cache.backends.redis import RedisCache, RedisCacheClient

from config.storage.redis_client import redis_client


class _Client(RedisCacheClient):
    def get_client(self, key: Any = None, *, write: bool = False) -> Any:
        return redis_client()


class RateCache(RedisCache):
    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = _Client
