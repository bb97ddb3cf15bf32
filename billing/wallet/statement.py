"""A company's statement: the transfers that changed its balance, and the balance after each.

The balance of a statement is available plus held. Holds and releases move tokens within it, so they
are left out unless requested.
"""

from collections.abc import Mapping, Sequence, Set
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

from accounts.models import Company
from api.pagination import Position
from billing.models import Transfer
from billing.seals.hashes import LINE
from billing.wallet import archived
from billing.wallet.archived import Opening
from billing.wallet.period_totals import balances_before
from parsing.days import start_of
from storage.sessions import in_index_order
from storage.statements import sql_files
from storage.statements.named_rows import fetch_all

Kind = Transfer.Kind
INTERNAL_KINDS = {Kind.HOLD, Kind.RELEASE}
EXTERNAL_KINDS = {Kind.TOP_UP, Kind.GRANT, Kind.WITHDRAW}  # few rows, with an index
SIGNS = {Kind.TOP_UP: 1, Kind.GRANT: 1, Kind.WITHDRAW: -1, Kind.CAPTURE: -1}
_NEXT_LINES = sql_files.read("billing/wallet/next_lines.sql")
BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
END = datetime(9999, 1, 1, tzinfo=UTC)
BATCH_SIZE = 2000


class Line(NamedTuple):
    """A row of the export."""

    created_at: datetime
    id: int
    kind: str
    amount: int
    message_id: UUID | None
    reason: str
    balance_after: int | None
    sealed_line: str


class Lines(NamedTuple):
    """The transfers selected by a filter."""

    rows: QuerySet[Transfer]
    history: QuerySet[Transfer] | None  # bounds of the search for a filter without an index
    opening: Opening | None  # older transfers are archived


def lines_of(company: Company, filters: Mapping[str, Any]) -> Lines:
    since, until = _period(filters)
    opening = archived.opening(company.pk)
    history = Transfer.objects.filter(company=company)
    if opening:
        history = history.filter(created_at__gt=opening.at)
    if since is not BEGINNING:
        history = history.filter(created_at__gte=since)
    if until is not END:
        history = history.filter(created_at__lt=until)
    kinds = _kinds(filters)
    if kinds >= set(Kind):
        return Lines(history, None, opening)
    scanned = None if kinds <= EXTERNAL_KINDS else history
    chosen_kinds = RawSQL(f"billing_transfer.{_kind_condition(kinds)}", [], BooleanField())  # noqa: S611 - constants
    return Lines(history.filter(chosen_kinds), scanned, opening)


def with_balances(company: Company, rows: Sequence[Transfer]) -> list[tuple[Transfer, int]]:
    """Pairs transfers with the balance after each; holds and releases do not change it."""
    positions = [(row.created_at, row.pk) for row in rows if row.balance_after is None]
    before = iter(balances_before(company.pk, positions))
    return [(row, next(before) if row.balance_after is None else row.balance_after) for row in rows]


def balance_change(kind: str, amount: int) -> int:
    """The signed change of the balance; 0 for a transfer within it."""
    return SIGNS.get(Kind(kind), 0) * amount


def opening_of(company: Company, filters: Mapping[str, Any]) -> Opening | None:
    """The balance with which the export begins, if the first transfers of its days are archived."""
    opening = archived.opening(company.pk)
    return opening if opening and _period(filters)[0] <= opening.at else None


def lines_after(
    company: Company, filters: Mapping[str, Any], start: Position | None
) -> tuple[list[tuple[Line, int]], Position | None]:
    """The lines after `start` with the balance after each, oldest first, and the start of the next
    ones; None at the end.

    Without an index it reads more kinds than requested, but a bounded part of the history.
    """
    kinds = _kinds(filters)
    since, until = _period(filters)
    if opening := archived.opening(company.pk):
        since = max(since, opening.at + timedelta(microseconds=1))
    last_at, last = max(start or (since, 0), (since, 0))
    (balance,) = balances_before(company.pk, [(last_at, last + 1)])
    params = {"company": company.pk, "last_at": last_at, "last": last, "until": until}
    lines = _read_lines(_next_lines(kinds), params)
    balanced = []
    for line in lines:
        balance = balance if line.balance_after is None else line.balance_after
        if line.kind in kinds:
            balanced.append((line, balance))
    is_end = len(lines) < BATCH_SIZE
    return balanced, None if is_end else Position(lines[-1].created_at, lines[-1].id)


def _next_lines(kinds: Set[Kind]) -> str:
    condition = f"AND {_kind_condition(kinds)}" if kinds <= EXTERNAL_KINDS else ""
    # A literal limit: a plan for any limit would sort the whole history.
    return f"{sql_files.fill(_NEXT_LINES, line=LINE, condition=condition)} LIMIT {BATCH_SIZE:d}"


def _kind_condition(kinds: Set[Kind]) -> str:
    """The condition with literals: a plan for any parameters could not use `transfer_external`."""
    return f"kind IN ({', '.join(sorted(repr(kind.value) for kind in kinds))})"


def _read_lines(statement: str, params: dict[str, Any]) -> list[Line]:
    with in_index_order() as cursor:
        cursor.execute(statement, params)
        return fetch_all(cursor, Line)


def _kinds(filters: Mapping[str, Any]) -> frozenset[Kind]:
    kind = filters.get("kind")
    if kind == "all":
        return frozenset(Kind)
    return frozenset([Kind(kind)] if kind else set(Kind) - INTERNAL_KINDS)


def _period(filters: Mapping[str, Any]) -> tuple[datetime, datetime]:
    first, last = filters.get("date_from"), filters.get("date_to")
    return (
        start_of(first) if first else BEGINNING,
        start_of(last + timedelta(days=1)) if last else END,
    )
