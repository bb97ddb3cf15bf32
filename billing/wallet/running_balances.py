"""The balance after any transfer of a company, without reading all newer ones.

Every 250th transfer, in the order of the statement, has a stored balance. A worker stores them a
minute behind the transfers; the balance after any other line is the stored one below it plus what
moved since. The stored ones count only while they agree with the wallet: a transfer that is
committed below the last of them, however late, makes them differ by its amount. Balances are then
counted from the wallet down until the worker has replaced the rows that no longer fit.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job

JOB = Job("running_balances", _("balances of statements"))
REPAIRS = Job("running_balances_repair", _("repairs of balances of statements"))
LOCK = 0x6B76_7262  # an advisory lock: one writer at a time
INTERVAL = 250  # transfers from one stored balance to the next
BATCH = 50_000  # transfers read per commit
MARGIN = "interval '1 minute'"  # longer than most transactions last; later ones are repaired

CHANGE = """CASE WHEN kind IN ('top_up', 'grant') THEN amount
  WHEN kind IN ('withdraw', 'capture') THEN -amount ELSE 0 END"""

# Transfers in an archive are older than every line of a statement.
ARCHIVED = f"""
COALESCE((SELECT sum({CHANGE.replace("amount", "tokens")}) FROM billing_archivedsum
          WHERE company_id = {{company}}), 0)"""  # noqa: S608

# The conditions on the time alone are redundant: they choose the partitions of a month.
_LAST = """
SELECT created_at, transfer_id, balance FROM billing_runningbalance
WHERE company_id = {company} ORDER BY created_at DESC, transfer_id DESC LIMIT 1"""
_AFTER_LAST = """
created_at >= COALESCE(last.created_at, '-infinity')
  AND (created_at, id) > (COALESCE(last.created_at, '-infinity'), COALESCE(last.transfer_id, 0))"""

_ARCHIVED_OF_COMPANY = ARCHIVED.format(company="%(company)s")
_LAST_OF_COMPANY = _LAST.format(company="%(company)s")
_LAST_OF_WALLET = _LAST.format(company="w.company_id")
# What was held today or yesterday may have moved; an hourly run looks at every wallet.
_MAY_HAVE_MOVED = "(%(whole)s OR w.day >= (now() - interval '2 days')::date)"

_DUE = f"""
SELECT w.company_id FROM billing_wallet w
LEFT JOIN LATERAL ({_LAST_OF_WALLET}) last ON true
CROSS JOIN LATERAL (
  SELECT FROM billing_transfer t WHERE t.company_id = w.company_id
    AND created_at < now() - {MARGIN} AND {_AFTER_LAST}
  ORDER BY created_at, id OFFSET {INTERVAL - 1} LIMIT 1) AS next
WHERE {_MAY_HAVE_MOVED} ORDER BY w.company_id
"""  # noqa: S608 - constants of this file

_DIFFERING = f"""
SELECT w.company_id FROM billing_wallet w
JOIN LATERAL ({_LAST_OF_WALLET}) last ON true
CROSS JOIN LATERAL (
  SELECT COALESCE(sum({CHANGE}), 0) AS change FROM billing_transfer t
  WHERE t.company_id = w.company_id AND {_AFTER_LAST}) AS tail
WHERE {_MAY_HAVE_MOVED} AND w.available + w.held <> last.balance + tail.change
ORDER BY w.company_id
"""  # noqa: S608

_STORE = f"""
WITH last AS (
  SELECT last.* FROM (SELECT) AS always LEFT JOIN LATERAL ({_LAST_OF_COMPANY}) last ON true),
found AS (
  SELECT t.created_at, t.id, {CHANGE} AS change FROM last CROSS JOIN LATERAL (
    SELECT created_at, id, kind, amount FROM billing_transfer
    WHERE company_id = %(company)s AND created_at < now() - {MARGIN} AND {_AFTER_LAST}
    ORDER BY created_at, id LIMIT {BATCH}) AS t),
numbered AS (
  SELECT created_at, id, row_number() OVER upward AS n, sum(change) OVER upward AS change
  FROM found WINDOW upward AS (ORDER BY created_at, id))
INSERT INTO billing_runningbalance (company_id, created_at, transfer_id, balance)
SELECT %(company)s, n.created_at, n.id, COALESCE(last.balance, {_ARCHIVED_OF_COMPANY}) + n.change
FROM numbered n, last WHERE n.n %% {INTERVAL} = 0
"""  # noqa: S608

# Each stored balance against the one before it and the transfers in between.
WRONG = f"""
SELECT company_id, created_at, transfer_id FROM (
  SELECT r.company_id, r.created_at, r.transfer_id, r.balance,
    COALESCE(b.balance, {ARCHIVED.format(company="r.company_id")}) AS before,
    COALESCE(b.created_at, '-infinity') AS since, COALESCE(b.transfer_id, 0) AS since_id
  FROM billing_runningbalance r LEFT JOIN LATERAL (
    SELECT balance, created_at, transfer_id FROM billing_runningbalance
    WHERE company_id = r.company_id AND (created_at, transfer_id) < (r.created_at, r.transfer_id)
    ORDER BY created_at DESC, transfer_id DESC LIMIT 1) b ON true
  WHERE {{which}}) r
WHERE balance <> before + (
  SELECT COALESCE(sum({CHANGE}), 0) FROM billing_transfer t
  WHERE t.company_id = r.company_id AND t.created_at BETWEEN since AND r.created_at
    AND (t.created_at, t.id) > (since, since_id)
    AND (t.created_at, t.id) <= (r.created_at, r.transfer_id))
"""  # noqa: S608

_DELETE_WRONG = f"""
DELETE FROM billing_runningbalance r USING (
  {WRONG.format(which="r.company_id = %(company)s")}
  ORDER BY created_at, transfer_id LIMIT 1) AS first
WHERE r.company_id = %(company)s
  AND (r.created_at, r.transfer_id) >= (first.created_at, first.transfer_id)
"""  # noqa: S608

# From each stored balance below a line up to the last line above it. One statement, so that wallet,
# stored balances and transfers come from one snapshot.
_AFTER = f"""
WITH last AS MATERIALIZED (
  SELECT last.* FROM (SELECT) AS always LEFT JOIN LATERAL ({_LAST_OF_COMPANY}) last ON true),
tail AS MATERIALIZED (
  SELECT COALESCE(sum({CHANGE}), 0) AS change FROM last CROSS JOIN LATERAL (
    SELECT kind, amount FROM billing_transfer
    WHERE company_id = %(company)s AND {_AFTER_LAST} ORDER BY created_at, id) AS t),
spans AS MATERIALIZED (
  SELECT DISTINCT ON (below.created_at, below.transfer_id)
    COALESCE(below.balance, {_ARCHIVED_OF_COMPANY}) AS balance,
    COALESCE(below.created_at, '-infinity') AS since, COALESCE(below.transfer_id, 0) AS since_id,
    line.at AS until, line.id AS until_id
  FROM unnest(%(times)s::timestamptz[], %(ids)s::bigint[]) AS line(at, id)
  LEFT JOIN LATERAL (
    SELECT r.created_at, r.transfer_id, r.balance FROM billing_runningbalance r
    WHERE r.company_id = %(company)s AND (r.created_at, r.transfer_id) < (line.at, line.id)
    ORDER BY r.created_at DESC, r.transfer_id DESC LIMIT 1) AS below ON true
  ORDER BY below.created_at, below.transfer_id, line.at DESC, line.id DESC)
SELECT lines.id, (spans.balance + lines.change)::bigint,
  w.available + w.held = COALESCE(last.balance, {_ARCHIVED_OF_COMPANY}) + tail.change
FROM billing_wallet w CROSS JOIN last CROSS JOIN tail CROSS JOIN spans CROSS JOIN LATERAL (
  SELECT t.id, sum({CHANGE}) OVER (ORDER BY t.created_at, t.id) AS change FROM billing_transfer t
  WHERE t.company_id = %(company)s AND t.created_at BETWEEN since AND until
    AND (t.created_at, t.id) > (since, since_id) AND (t.created_at, t.id) <= (until, until_id)
  ORDER BY t.created_at, t.id) AS lines
WHERE w.company_id = %(company)s AND lines.id = ANY(%(ids)s::bigint[])
"""  # noqa: S608

# The current balance minus the newer lines; inlined, the sum would be recomputed for each line.
_FROM_WALLET = f"""
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
"""  # noqa: S608

Position = tuple[datetime, int]  # of a transfer: its time and id


def balances_after(company_id: int, positions: Sequence[Position]) -> dict[int, int]:
    """The balance after each transfer, by its id."""
    if not positions:
        return {}
    params: dict[str, Any] = {
        "company": company_id,
        "times": [at for at, _id in positions],
        "ids": [transfer_id for _at, transfer_id in positions],
    }
    with connection.cursor() as cursor:
        cursor.execute(_AFTER, params)
        rows = cursor.fetchall()
        if all(is_right for _id, _balance, is_right in rows):
            return {transfer_id: balance for transfer_id, balance, _is_right in rows}
        cursor.execute(_FROM_WALLET, params | _ends(positions))
        return dict(cursor.fetchall())


def store(*, whole: bool = False) -> int:
    """Stores what is missing and repairs what no longer fits; returns how many were stored.

    Looks at the wallets that may have moved since yesterday, or at all of them.
    """
    stored = sum(JOB.each(_companies(_DUE, whole=whole), _store))
    return stored + sum(REPAIRS.each(_companies(_DIFFERING, whole=whole), _repair))


def _repair(company_id: int) -> int:
    return _store(company_id) if _delete_wrong(company_id) else 0


def _store(company_id: int) -> int:
    return sum(_in_batches(company_id))


def _in_batches(company_id: int) -> Iterator[int]:
    stored = BATCH
    while stored >= BATCH // INTERVAL:
        stored = _write(_STORE, company_id)
        yield stored


def _delete_wrong(company_id: int) -> int:
    return _write(_DELETE_WRONG, company_id)


@transaction.atomic
def _write(statement: str, company_id: int) -> int:
    """How many rows were written; 0 as well while another process writes."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        if not cursor.fetchone()[0]:
            return 0
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(statement, {"company": company_id})
        return int(cursor.rowcount)


@transaction.atomic
def _companies(statement: str, *, whole: bool) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(statement, {"whole": whole})
        return [company_id for (company_id,) in cursor.fetchall()]


def _ends(positions: Sequence[Position]) -> dict[str, Any]:
    newest, oldest = max(positions), min(positions)
    return {
        "newest_at": newest[0],
        "newest": newest[1],
        "oldest_at": oldest[0],
        "oldest": oldest[1],
    }
