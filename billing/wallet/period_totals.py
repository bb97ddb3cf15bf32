"""A company's balance at a moment, and the movements in between, without reading each charge.

Spending follows from the balances and the few external transfers.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import BooleanField
from django.db.models.expressions import RawSQL
from django.utils import timezone

from billing.models import Transfer
from billing.wallet import archived
from parsing.days import start_of
from storage.sessions import in_index_order
from storage.statements import sql_files
from storage.statements.queries import select

_Kind = Transfer.Kind
_SQL = sql_files.read_several("billing/wallet/period_totals.sql")
# Repeats the condition of `transfer_external`.
_EXTERNAL = "billing_transfer.kind IN ('top_up', 'grant', 'withdraw')"


class Totals(NamedTuple):
    """Totals in tokens. closing = opening + bought + granted - withdrawn - spent."""

    opening: int
    bought: int
    granted: int
    withdrawn: int
    spent: int
    closing: int


def local_start_of(day: date) -> datetime:
    """Midnight in the service's time zone, in which documents are dated."""
    return start_of(day, timezone.get_default_timezone())


def day_of(at: datetime) -> date:
    return timezone.localtime(at, timezone.get_default_timezone()).date()


def sums_of(rows: Iterable[Transfer]) -> tuple[int, int, int]:
    """The sums bought, granted and withdrawn."""
    sums = Counter[str]()
    for row in rows:
        sums[row.kind] += row.amount
    return sums[_Kind.TOP_UP], sums[_Kind.GRANT], sums[_Kind.WITHDRAW]


def external_transfers(company_id: int, start: datetime, end: datetime) -> list[Transfer]:
    """Top-ups, grants and withdrawals, oldest first."""
    rows = Transfer.objects.filter(
        RawSQL(_EXTERNAL, [], BooleanField()),  # noqa: S611 - a constant
        company=company_id,
        created_at__gte=start,
        created_at__lt=end,
    )
    return list(rows.order_by("created_at", "id"))


Position = tuple[datetime, int]  # in the order of a company's transfers: time and id


def balances_at(company_id: int, moments: Sequence[datetime]) -> list[int]:
    """The balance just before each moment; no moment may be among archived transfers."""
    return balances_before(company_id, [(moment, 0) for moment in moments])


def balances_before(company_id: int, positions: Sequence[Position]) -> list[int]:
    if not positions:
        return []
    opening = archived.opening(company_id)
    params: dict[str, Any] = {
        "company": company_id,
        "times": [at for at, _id in positions],
        "ids": [transfer_id for _at, transfer_id in positions],
        "opened_at": opening.at if opening else datetime.min.replace(tzinfo=UTC),
        "opening": opening.balance if opening else 0,
    }
    with in_index_order() as cursor:
        cursor.execute(_SQL["balances"], params)
        return [balance for (balance,) in cursor.fetchall()]


def totals(company_id: int, bounds: Sequence[datetime]) -> list[Totals]:
    """Totals of each period between two bounds, in two statements and one for balances."""
    balances = balances_at(company_id, bounds)
    rows = external_transfers(company_id, bounds[0], bounds[-1])
    return [
        _totals_between([row for row in rows if start <= row.created_at < end], opening, closing)
        for (start, end), (opening, closing) in zip(
            pairwise(bounds), pairwise(balances), strict=True
        )
    ]


def _totals_between(rows: Sequence[Transfer], opening: int, closing: int) -> Totals:
    bought, granted, withdrawn = sums_of(rows)
    spent = opening + bought + granted - withdrawn - closing
    return Totals(opening, bought, granted, withdrawn, spent, closing)


class SettledTotals(NamedTuple):
    """A company's settled tokens on one day."""

    company_id: int
    day: date
    spent: int
    returned: int


def settled_totals(
    start: datetime, end: datetime, company_id: int | None = None
) -> list[SettledTotals]:
    """The totals by day, of one company or of all that have any."""
    params = {"start": start, "end": end, "company_id": company_id, "zone": settings.TIME_ZONE}
    return select(SettledTotals, _SQL["settled"], params)
