"""Daily quotas of a company's test keys, which are free and so have no other bound.

One PostgreSQL statement on the cache table counts only what fits: the quota is exact under
parallel requests and without Redis.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from config.errors import DomainError, Error

_TAKE = """
INSERT INTO accounts_cacheentry AS used (key, value, expires_at)
SELECT %(key)s, to_jsonb(%(count)s::int), %(end)s WHERE %(count)s::int <= %(most)s
ON CONFLICT (key) DO UPDATE SET value = to_jsonb(used.value::int + %(count)s::int)
WHERE used.value::int + %(count)s::int <= %(most)s
"""
_USED_UP = {
    "links": _("A company's test keys make at most {max} links a day"),
    "messages": _("A company's test keys make at most {max} messages a day"),
}


def consume(company_id: int, what: str, count: int = 1) -> None:
    """Add `count` to today's usage (UTC); raises `rate_limited` and counts nothing when over."""
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
    raise DomainError(
        Error.RATE_LIMITED,
        message=format_lazy(_USED_UP[what], max=most),
        retry_after=max(1, int((end - now).total_seconds()) + 1),
    )
