"""A company's statement: the transfers that changed its balance, and the balance after each.

The balance of a statement is available plus held. Holds and releases move tokens within it, so
they are left out unless requested.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from accounts.models import Company
from billing.models import Transfer
from config.ids import public_id
from config.storage.named_rows import Row, fetch_all

Kind = Transfer.Kind
INTERNAL_KINDS = (Kind.HOLD, Kind.RELEASE)
SIGNS = {Kind.TOP_UP: 1, Kind.GRANT: 1, Kind.WITHDRAW: -1, Kind.CAPTURE: -1}
CHANGE = """CASE WHEN kind IN ('top_up', 'grant') THEN amount
  WHEN kind IN ('withdraw', 'capture') THEN -amount ELSE 0 END"""

# The current balance minus the newer lines: reads only the page and what is newer. One statement,
# so wallet and lines come from one snapshot; inlined, the sum would be recomputed for each line.
BALANCES = f"""
WITH opening AS MATERIALIZED (
  SELECT w.available + w.held - COALESCE((
    SELECT sum({CHANGE}) FROM billing_transfer
    WHERE company_id = w.company_id AND (created_at, id) > (%(newest_at)s, %(newest)s)), 0) AS owned
  FROM billing_wallet w WHERE w.company_id = %(company)s),
lines AS (
  SELECT id, sum({CHANGE}) OVER (ORDER BY created_at DESC, id DESC) - ({CHANGE}) AS later
  FROM billing_transfer WHERE company_id = %(company)s
    AND (created_at, id) <= (%(newest_at)s, %(newest)s)
    AND (created_at, id) >= (%(oldest_at)s, %(oldest)s))
SELECT lines.id, (opening.owned - lines.later)::bigint FROM lines, opening
WHERE lines.id = ANY(%(ids)s)
"""  # noqa: S608 - nothing of a request's

# The balance before the first line, and the last line now: later ones are left out.
BOUNDS = f"""
SELECT created_at AS newest_at, id AS newest, (
  SELECT COALESCE(sum({CHANGE}), 0)::bigint FROM billing_transfer
  WHERE company_id = %(company)s AND created_at < %(since)s) AS before
FROM billing_transfer WHERE company_id = %(company)s
  AND created_at >= %(since)s AND created_at < %(until)s ORDER BY created_at DESC, id DESC LIMIT 1
"""  # noqa: S608

# The next lines, oldest first, by the index.
NEXT_LINES = """
SELECT created_at, id, kind, amount, message_id, reason
FROM billing_transfer WHERE company_id = %(company)s AND kind = ANY(%(kinds)s)
  AND created_at >= %(since)s AND (created_at, id) > (%(last_at)s, %(last)s)
  AND (created_at, id) <= (%(newest_at)s, %(newest)s) ORDER BY created_at, id LIMIT %(limit)s
"""
BEGINNING, END = datetime(2000, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
CHUNK = 2000


class Bounds(NamedTuple):
    """The row of `BOUNDS`."""

    newest_at: datetime
    newest: int
    before: int


class Line(NamedTuple):
    """A row of the export."""

    created_at: datetime
    id: int
    kind: str
    amount: int
    message_id: UUID | None
    reason: str


def filtered(company: Company, chosen: Mapping[str, Any]) -> QuerySet[Transfer]:
    rows = Transfer.objects.filter(company=company, kind__in=_kinds(chosen))
    since, until = _period(chosen)
    if since is not BEGINNING:
        rows = rows.filter(created_at__gte=since)
    return rows if until is END else rows.filter(created_at__lt=until)


def with_balances(company: Company, rows: Sequence[Transfer]) -> list[tuple[Transfer, int]]:
    """Pairs a page's transfers, newest first, with the balance after each."""
    if not rows:
        return []
    params: dict[str, Any] = {
        "company": company.pk,
        "newest_at": rows[0].created_at,
        "newest": rows[0].pk,
        "oldest_at": rows[-1].created_at,
        "oldest": rows[-1].pk,
        "ids": [row.pk for row in rows],
    }
    with connection.cursor() as cursor:
        cursor.execute(BALANCES, params)
        balances: dict[int, int] = dict(cursor.fetchall())
    return [(row, balances[row.pk]) for row in rows]


def balance_change(kind: str, amount: int) -> int:
    """The signed change of the balance; 0 for a transfer within it."""
    return SIGNS.get(Kind(kind), 0) * amount


def export(company: Company, chosen: Mapping[str, Any]) -> Iterator[list[str | int]]:
    """Yields spreadsheet rows, oldest first, streamed from the database."""
    yield [
        _("Time"),
        _("Operation"),
        _("Tokens"),
        pgettext("tokens", "Change"),
        _("Balance"),
        _("Message"),
        _("Note"),
    ]
    for line, balance in _lines(company, chosen):
        local = timezone.localtime(line.created_at)
        yield [
            f"{local:%Y-%m-%d %H:%M:%S}",
            str(Kind(line.kind).label),
            line.amount,
            balance_change(line.kind, line.amount),
            balance,
            public_id("msg", line.message_id) if line.message_id else "",
            line.reason,
        ]


def _lines(company: Company, chosen: Mapping[str, Any]) -> Iterator[tuple[Line, int]]:
    """Yields each line with the balance after it."""
    since, until = _period(chosen)
    wanted = set(_kinds(chosen))
    params = {"company": company.pk, "kinds": sorted(wanted | SIGNS.keys()), "since": since}
    for bounds in _read(BOUNDS, params | {"until": until}, Bounds):
        balance = bounds.before
        newest = {"newest_at": bounds.newest_at, "newest": bounds.newest}
        for line in _lines_until(params | newest):
            balance += balance_change(line.kind, line.amount)
            if line.kind in wanted:
                yield line, balance


def _lines_until(params: dict[str, Any]) -> Iterator[Line]:
    """Yields lines in batches; gives the connection back in between, as readers may be slow."""
    last_at, last = params["since"], 0
    while True:
        place = {"last_at": last_at, "last": last, "limit": CHUNK}
        lines = _read(NEXT_LINES, params | place, Line)
        if not connection.in_atomic_block:
            connection.close()
        yield from lines
        if len(lines) < CHUNK:
            return
        last_at, last = lines[-1].created_at, lines[-1].id


def _read(statement: str, params: dict[str, Any], kind: Callable[..., Row]) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return fetch_all(cursor, kind)


def _kinds(chosen: Mapping[str, Any]) -> list[str]:
    kind = chosen.get("kind")
    if kind == "all":
        return list(Kind.values)
    return [kind] if kind else [kind for kind in Kind.values if kind not in INTERNAL_KINDS]


def _period(chosen: Mapping[str, Any]) -> tuple[datetime, datetime]:
    first, last = chosen.get("date_from"), chosen.get("date_to")
    return (
        _start_of(first) if first else BEGINNING,
        _start_of(last + timedelta(days=1)) if last and last < END.date() else END,
    )


def _start_of(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
