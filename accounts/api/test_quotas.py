"""What a company's test keys may make in a day: they pay nothing, so nothing else bounds them.

Counted in PostgreSQL, in the table of the default cache, by one statement that adds only what fits:
exact however many calls run at once, and with Redis away.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection
from django.utils import timezone

from config.errors import DomainError, Error

_TAKE = """
INSERT INTO accounts_cacheentry AS used (key, value, expires_at)
SELECT %(key)s, to_jsonb(%(count)s::int), %(end)s WHERE %(count)s::int <= %(most)s
ON CONFLICT (key) DO UPDATE SET value = to_jsonb(used.value::int + %(count)s::int)
WHERE used.value::int + %(count)s::int <= %(most)s
"""
_WORDS = {
    "links": ("ссылок", "links"),
    "messages": ("сообщений", "messages"),
}


def consume(company_id: int, what: str, count: int = 1) -> None:
    """Count some more of today's (by UTC); raises `rate_limited`, and then counts none."""
    now = timezone.now()
    end = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    most = settings.TEST_QUOTAS[what]
    params: dict[str, str | int | datetime] = {
        "key": f"quota:test:{what}:{company_id}:{now:%Y%m%d}",
        "count": count,
        "most": most,
        "end": end,
    }
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, params)
        if cursor.rowcount:
            return
    russian, english = _WORDS[what]
    raise DomainError(
        Error.RATE_LIMITED,
        message=(
            f"Тестовые ключи компании создают не больше {most} {russian} в сутки",
            f"A company's test keys make at most {most} {english} a day",
        ),
        retry_after=max(1, int((end - now).total_seconds()) + 1),
    )
