"""What a company had at a moment, and what moved between moments, without reading every charge.

What was spent follows from the balances and the few transfers from outside.
"""

from bisect import bisect_right
from collections.abc import Sequence
from datetime import date, datetime
from itertools import pairwise
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection
from django.db.models import BooleanField
from django.db.models.expressions import RawSQL
from django.utils import timezone

from billing.models import Transfer
from billing.wallet import archived, running_balances
from parsing.days import start_of as midnight
from storage.sessions import in_index_order
from storage.statements.named_rows import fetch_all

_Kind = Transfer.Kind
_NEWEST = """
SELECT t.created_at, t.id FROM unnest(%(moments)s::timestamptz[]) WITH ORDINALITY AS m(at, n)
CROSS JOIN LATERAL (
  SELECT created_at, id FROM billing_transfer
  WHERE company_id = %(company)s AND created_at < m.at
  ORDER BY created_at DESC, id DESC LIMIT 1) AS t
"""
# Its condition is the one of `transfer_external`.
_EXTERNAL = "billing_transfer.kind IN ('top_up', 'grant', 'withdraw')"


class _Position(NamedTuple):
    """A row of `_NEWEST`."""

    created_at: datetime
    id: int


class Totals(NamedTuple):
    """Tokens. closing = opening + bought + granted - withdrawn - spent."""

    opening: int
    bought: int
    granted: int
    withdrawn: int
    spent: int
    closing: int


def start_of(day: date) -> datetime:
    """Midnight in the service's time zone, by which documents go."""
    return midnight(day, timezone.get_default_timezone())


def external_transfers(company_id: int, start: datetime, end: datetime) -> list[Transfer]:
    """Top-ups, grants and withdrawals, oldest first."""
    rows = Transfer.objects.filter(
        RawSQL(_EXTERNAL, [], BooleanField()),  # noqa: S611 - a constant
        company=company_id,
        created_at__gte=start,
        created_at__lt=end,
    )
    return list(rows.order_by("created_at", "id"))


def balances_at(company_id: int, moments: Sequence[datetime]) -> list[int]:
    """The balance just before each moment; none of them may lie among archived transfers."""
    opening = archived.opening(company_id)
    params: dict[str, Any] = {"company": company_id, "moments": list(moments)}
    with in_index_order() as cursor:
        cursor.execute(_NEWEST, params)
        positions = sorted(set(fetch_all(cursor, _Position)))
    if opening:
        positions = [position for position in positions if position.created_at > opening.at]
    balances = running_balances.balances_after(company_id, positions)
    times = [position.created_at for position in positions]
    before = opening.balance if opening else 0
    counts = [bisect_right(times, moment) for moment in moments]
    # A transfer at the very moment belongs to what follows.
    return [
        balances[positions[n - 1].id] if n else before
        for n in (
            n - 1 if n and positions[n - 1].created_at >= moment else n
            for n, moment in zip(counts, moments, strict=True)
        )
    ]


def totals(company_id: int, bounds: Sequence[datetime]) -> list[Totals]:
    """Totals of each period between two bounds, in two statements and one for balances."""
    balances = balances_at(company_id, bounds)
    rows = external_transfers(company_id, bounds[0], bounds[-1])
    return [
        _between([row for row in rows if start <= row.created_at < end], opening, closing)
        for (start, end), (opening, closing) in zip(
            pairwise(bounds), pairwise(balances), strict=True
        )
    ]


def _between(rows: Sequence[Transfer], opening: int, closing: int) -> Totals:
    bought, granted, withdrawn = (
        sum(row.amount for row in rows if row.kind == kind)
        for kind in (_Kind.TOP_UP, _Kind.GRANT, _Kind.WITHDRAW)
    )
    spent = opening + bought + granted - withdrawn - closing
    return Totals(opening, bought, granted, withdrawn, spent, closing)


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
    """For each company that had any, or for one."""
    with connection.cursor() as cursor:
        params = {"start": start, "end": end, "company_id": company_id, "zone": settings.TIME_ZONE}
        cursor.execute(_SETTLED_TOTALS, params)
        return fetch_all(cursor, SettledTotals)
