"""The parts of seals that belong to months of messages: a month that left the database is compared
with them.

A month is that of the messages, as of the partitions (docs/decisions/0019): its transfers lie in
the month's partition, and in the seals of that month's days and of some days after it. The first
partition of a table has all earlier months as well.
"""

import json
from collections.abc import Collection
from datetime import date, timedelta

from django.db import connection

from billing.models import Transfer
from billing.seals.heads import Part
from billing.seals.lines import days_of
from billing.seals.sealing import BEGINNING
from config.storage.months.calendar import parse_month

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
        found = [(company, day, Part(**json.loads(part))) for company, day, part in cursor]
    return {(company, day, part.month): part for company, day, part in found}


def parts_of_transfers() -> Parts:
    """What the seals must have of the transfers themselves."""
    companies = Transfer.objects.order_by("company").values_list("company", flat=True).distinct()
    return {
        (company, day, part.month): part
        for company in companies
        for day, parts in days_of(company, BEGINNING, date.max)
        for part in parts
    }
