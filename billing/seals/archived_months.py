"""Compares months that left the database with the seals of their transfers.

A seal's parts have the number of a month's transfers and what they changed, not their kinds. So the
seals prove what was charged, and what holds and releases make together; docs/reliability.md says
what they leave open. A month is that of the messages, as of the partitions (docs/decisions/0019):
its transfers lie in the month's partition, and in the seals of that month's days and of some days
after it. The first partition of a table has all earlier months as well.
"""

import json
from collections.abc import Collection
from datetime import date, timedelta

from django.db import connection
from django.db.models import Max

from billing.models import ArchivedMonth, Transfer
from billing.seals.hashes import AVAILABLE, HELD, Part, days_of, start_of
from billing.seals.proof import Fault
from billing.seals.sealing import BEGINNING
from catalogue.ids import first_id_at
from storage.months.calendar import next_month, parse_month

DIFFERS = "archived sum differs from its seals"
PRESENT = "transfers of an archived month"

# A month was archived with its holds settled, once each. The first one holds all earlier months.
_WRONG = f"""
WITH sealed AS (
  SELECT gone.month, sum(p.transfers) AS transfers, sum(p.available) AS available,
    sum(p.held) AS held, max(s.day) AS last_day
  FROM billing_seal s CROSS JOIN LATERAL jsonb_to_recordset(s.parts)
    AS p(month text, transfers bigint, available bigint, held bigint)
  CROSS JOIN LATERAL (
    SELECT min(month) AS month FROM billing_archivedmonth
    WHERE to_char(month, 'YYYY-MM') COLLATE "C" >= p.month) AS gone
  WHERE s.company_id = %(company)s AND p.month <> '' AND gone.month IS NOT NULL
    AND EXISTS (SELECT FROM billing_archivedmonth)
  GROUP BY gone.month),
kept AS (
  SELECT month_id AS month, sum(transfers) AS transfers,
    sum({AVAILABLE.replace("amount", "tokens")}) AS available,
    sum({HELD.replace("amount", "tokens")}) AS held,
    max((last_at AT TIME ZONE 'UTC')::date) AS last_day,
    bool_and(kind IN ('hold', 'capture', 'release'))
      AND sum(transfers) = 2 * sum(transfers) FILTER (WHERE kind = 'hold') AS is_settled
  FROM billing_archivedsum WHERE company_id = %(company)s GROUP BY month_id)
SELECT month FROM sealed FULL JOIN kept USING (month)
WHERE (sealed.transfers, sealed.available, sealed.held, sealed.last_day)
  IS DISTINCT FROM (kept.transfers, kept.available, kept.held, kept.last_day)
  OR kept.is_settled IS NOT TRUE
ORDER BY month
"""  # noqa: S608 - constants


def check_company(company_id: int) -> list[Fault]:
    """Finds a sum that was changed, deleted or invented, by each month of the company."""
    with connection.cursor() as cursor:
        cursor.execute(_WRONG, {"company": company_id})
        return [
            Fault(DIFFERS, f"company {company_id} in {month:%Y-%m}")
            for (month,) in cursor.fetchall()
        ]


def check_months() -> list[Fault]:
    """Finds a month that is archived by its row alone: its transfers would be compared no more."""
    newest = ArchivedMonth.objects.aggregate(month=Max("month"))["month"]
    if newest is None:
        return []
    end = first_id_at(start_of(next_month(newest)))
    row = Transfer.objects.filter(message_id__lt=end).order_by("message_id").first()
    return [Fault(PRESENT, f"transfer {row.pk}")] if row else []


Parts = dict[tuple[int, date, str], Part]  # by company, day and month

_SEALED = """
SELECT s.company_id, s.day, p.part FROM billing_seal s
CROSS JOIN LATERAL jsonb_array_elements(s.parts) AS p(part)
WHERE s.day >= %s AND p.part->>'month' = ANY(%s) ORDER BY s.company_id, s.day
"""


def sealed_parts(months: Collection[str]) -> Parts:
    """`months`: as 2026-05. The first of a month's messages may be a moment older than it."""
    since = parse_month(min(months)) - timedelta(days=1)
    with connection.cursor() as cursor:
        cursor.execute(_SEALED, [since, list(months)])
        parts = [(company, day, Part(**json.loads(part))) for company, day, part in cursor]
    return {(company, day, part.month): part for company, day, part in parts}


def parts_of_transfers() -> Parts:
    """What the seals must have of the transfers themselves."""
    companies = Transfer.objects.order_by("company").values_list("company", flat=True).distinct()
    return {
        (company, day, part.month): part
        for company in companies
        for day, parts in days_of(company, BEGINNING, date.max)
        for part in parts
    }
