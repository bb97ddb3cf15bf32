"""Limits counted in PostgreSQL, exact without Redis: `atomic_limits` counts in Redis."""

from datetime import datetime

from django.db import connection

_TAKE = """
INSERT INTO accounts_cacheentry AS used (key, value, expires_at)
SELECT %(key)s, to_jsonb(%(count)s::int), %(end)s WHERE %(count)s::int <= %(most)s
ON CONFLICT (key) DO UPDATE SET value = to_jsonb(used.value::int + %(count)s::int)
WHERE used.value::int + %(count)s::int <= %(most)s
"""


def count_in_postgres(key: str, *, most: int, end: datetime, count: int = 1) -> bool:
    """Adds `count` to the key's sum unless it would exceed `most` until `end`; returns whether it
    was added. One statement on the cache table is exact under concurrent requests, without Redis.
    """
    params: dict[str, str | int | datetime]
    params = {"key": key, "count": count, "most": most, "end": end}
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, params)
        return bool(cursor.rowcount)
