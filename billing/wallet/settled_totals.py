"""What companies' messages cost on each day of a period, and what came back."""

from datetime import date, datetime
from typing import NamedTuple

from django.conf import settings
from django.db import connection

from config.storage.statements.named_rows import fetch_all

# Uses the per-company index: one across companies would slow down every transfer.
_SETTLED_TOTALS = """
SELECT w.company_id, t.day, t.spent, t.returned FROM billing_wallet w, LATERAL (
  SELECT (created_at AT TIME ZONE %(zone)s)::date AS day,
         COALESCE(sum(amount) FILTER (WHERE kind = 'capture'), 0)::bigint AS spent,
         COALESCE(sum(amount) FILTER (WHERE kind = 'release'), 0)::bigint AS returned
  FROM billing_transfer WHERE company_id = w.company_id
    AND created_at >= %(start)s AND created_at < %(end)s
  GROUP BY 1) t
WHERE (%(company_id)s::bigint IS NULL OR w.company_id = %(company_id)s) AND spent + returned > 0
"""


class SettledTotals(NamedTuple):
    """Tokens of one company on one day."""

    company_id: int
    day: date
    spent: int
    returned: int


def settled_totals(
    start: datetime, end: datetime, company_id: int | None = None
) -> list[SettledTotals]:
    """Of each company that had any, or of one."""
    with connection.cursor() as cursor:
        params = {"start": start, "end": end, "company_id": company_id, "zone": settings.TIME_ZONE}
        cursor.execute(_SETTLED_TOTALS, params)
        return fetch_all(cursor, SettledTotals)
