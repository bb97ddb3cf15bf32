"""Django's caches: PostgreSQL has what must survive an outage of Redis, Redis the request rates.

allauth's rate limits and used one-time passwords are in Django's default cache: without it neither
is enforced. The table is unlogged, so a write needs no disk flush; a database crash empties it.
"""

import json
from datetime import UTC, datetime
from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from django.db import connection

from storage.redis_client import redis_client
from storage.statements.queries import execute, fetch_value

_GET = """
SELECT value::text FROM accounts_cacheentry WHERE key = %s AND expires_at > clock_timestamp()
"""

_SET = """
INSERT INTO accounts_cacheentry (key, value, expires_at) VALUES (%s, %s::jsonb, %s)
ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, expires_at = EXCLUDED.expires_at
"""

# Only one of several concurrent calls inserts; the others find its unexpired row.
_ADD = f"{_SET} WHERE accounts_cacheentry.expires_at <= clock_timestamp()"

_TOUCH = """
UPDATE accounts_cacheentry SET expires_at = %s WHERE key = %s AND expires_at > clock_timestamp()
"""

_DELETE = "DELETE FROM accounts_cacheentry WHERE key = %s AND expires_at > clock_timestamp()"


class PostgresCache(BaseCache):
    """Django's cache in a PostgreSQL table.

    Values are JSON, not pickle: write access to the table must not let anyone run code here.
    """

    def __init__(self, _location: str, params: dict[str, Any]) -> None:
        super().__init__(params)

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        stored = fetch_value(_GET, [self.make_and_validate_key(key, version)])
        return default if stored is None else json.loads(stored)

    def add(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> bool:
        is_added = self._write(_ADD, key, value, timeout, version)
        if not is_added and not connection.in_atomic_block:
            connection.close()  # a caller that polls for a lock must not hold a pool connection
        return is_added

    def set(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> None:
        self._write(_SET, key, value, timeout, version)

    def touch(self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        key = self.make_and_validate_key(key, version)
        return execute(_TOUCH, [self._expires_at(timeout), key]) > 0

    def delete(self, key: Any, version: int | None = None) -> bool:
        return execute(_DELETE, [self.make_and_validate_key(key, version)]) > 0

    def clear(self) -> None:
        execute("DELETE FROM accounts_cacheentry")

    def _write(self, statement: str, key: Any, value: Any, timeout: Any, version: Any) -> bool:
        key = self.make_and_validate_key(key, version)
        return execute(statement, [key, json.dumps(value), self._expires_at(timeout)]) > 0

    def _expires_at(self, timeout: Any) -> datetime:
        at = self.get_backend_timeout(timeout)
        return datetime.max.replace(tzinfo=UTC) if at is None else datetime.fromtimestamp(at, UTC)


class _Client(RedisCacheClient):
    def get_client(self, key: Any = None, *, write: bool = False) -> Any:
        return redis_client()


class RateCache(RedisCache):
    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = _Client
