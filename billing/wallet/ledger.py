"""The only writer of wallets and transfers, with the fragments of `billing.wallet.holds`.

Every kind of transfer names the account it debits and the one it credits, so the books balance
by construction. The statement that accepts a message opens its hold (`billing.wallet.holds`);
`move_holds` exchanges it for the hold of the next channel; only `settle`, or a statement with
`capture_sql`, closes it. Wallets are locked last, companies ascending; groups of sends skip those
that are locked.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from accounts.models import Company, User
from billing.budgets import sql
from billing.models import Budget, Transfer, Wallet
from storage.months.recent_ids import months_of, within
from storage.statements.json_rows import dump_rows, json_rows
from storage.statements.named_rows import fetch_all

TransferKind = Transfer.Kind
DeliveryProof = Transfer.Proof

# kind → (account debited, account credited); `outside` is everything beyond our books.
ACCOUNTS: dict[TransferKind, tuple[str, str]] = {
    TransferKind.TOP_UP: ("outside", "available"),
    TransferKind.GRANT: ("outside", "available"),
    TransferKind.WITHDRAW: ("available", "outside"),
    TransferKind.HOLD: ("available", "held"),
    TransferKind.CAPTURE: ("held", "spent"),
    TransferKind.RELEASE: ("held", "available"),
}


@dataclass(frozen=True, slots=True)
class Settlement:
    """Captures a hold with a proof, or releases it with a reason."""

    company_id: int
    message_id: UUID
    hold: int
    amount: int
    kind: TransferKind
    proof: str = ""
    reason: str = ""
    country: str = ""  # whose hourly budget a release in the same hour refunds
    api_key_id: int | None = None  # whose limit of the day it refunds


# A hold settled twice, or a message captured twice, conflicts on a unique index. Those rows are
# skipped with their money: only inserted rows move the wallet. The time is taken under the wallet's
# lock and never repeats, so that each balance follows from the one before it in the order of time.
_AT = "GREATEST(clock_timestamp(), moved_at + interval '1 microsecond')"
_SETTLEMENTS = json_rows(
    "settlements",
    "company_id bigint, kind text, amount bigint, message_id uuid, hold smallint, proof text,"
    " reason text, country text, api_key text",
)
_MOVED = f"""
asked AS (
  SELECT * FROM {{settlements}}),
locked AS (
  SELECT company_id, available + held AS balance, {_AT} AS at FROM billing_wallet
  WHERE company_id IN (SELECT company_id FROM asked) ORDER BY company_id FOR UPDATE),
moved AS (
  INSERT INTO billing_transfer
    (company_id, kind, amount, message_id, hold, proof, reason, created_at, balance_after)
  SELECT company_id, kind, amount, message_id, hold, proof, reason, at,
    CASE kind WHEN 'capture' THEN balance - sum(amount) FILTER (WHERE kind = 'capture') OVER (
      PARTITION BY company_id ORDER BY message_id, hold) END
  FROM asked JOIN locked USING (company_id)
  WHERE NOT EXISTS (
    SELECT FROM billing_transfer t WHERE t.message_id = asked.message_id AND t.hold = asked.hold
      AND t.kind <> 'hold' AND t.message_id BETWEEN :first_id AND :last_id)
  ORDER BY message_id, hold
  ON CONFLICT DO NOTHING RETURNING company_id, kind, amount, message_id, hold),
due AS (
  SELECT company_id, sum(amount) AS settled,
         COALESCE(sum(amount) FILTER (WHERE kind = 'release'), 0) AS returned
  FROM moved GROUP BY company_id){{back}}"""  # noqa: S608 - a constant
_WALLETS = """
UPDATE billing_wallet w
SET held = w.held - due.settled, available = w.available + due.returned,
  moved_at = locked.at{budgets}
FROM due JOIN locked USING (company_id){joined} WHERE w.company_id = due.company_id
"""
_SETTLE = f"WITH {_MOVED}{_WALLETS}"
_CAPTURE = _SETTLE.format(settlements=_SETTLEMENTS, back="", budgets="", joined="")


def capture_sql(holds: str) -> str:
    """CTEs that capture the holds of this query, for a statement that settles them as it goes.

    Its columns: company_id, kind ("capture"), amount, message_id, hold, proof, reason.
    """
    moved = _MOVED.format(settlements=f"({holds}) AS holds", back="")
    return f"{moved},\ncharged AS ({_WALLETS.format(budgets='', joined='')})"


# Released tokens also refund the budgets of the day and the hour they were held in, while these
# last: a vendor's failures must not use up a company's budget.
_RELEASE = _SETTLE.format(
    settlements=_SETTLEMENTS,
    back=f""",
p AS ({sql.PERIOD}),
back AS (
  SELECT m.company_id, a.country, a.api_key,
    sum(m.amount) FILTER (
      WHERE (h.created_at AT TIME ZONE %(time_zone)s::text)::date = p.today) AS day,
    COALESCE(sum(m.amount) FILTER (WHERE h.created_at >= p.hour), 0) AS hour
  FROM p, moved m JOIN asked a USING (message_id, hold, kind)
    JOIN billing_transfer h USING (message_id, hold)
  WHERE m.kind = 'release' AND h.kind = 'hold'
    AND h.message_id BETWEEN :first_id AND :last_id GROUP BY m.company_id, a.country, a.api_key),
room AS (
  SELECT company_id, COALESCE(sum(day), 0) AS day,
    (SELECT jsonb_object_agg(country, hour)
     FROM (SELECT country, sum(hour) AS hour FROM back WHERE company_id = b.company_id
           GROUP BY country) AS of_country) AS hours,
    (SELECT jsonb_object_agg(api_key, day)
     FROM (SELECT api_key, COALESCE(sum(day), 0) AS day FROM back WHERE company_id = b.company_id
           GROUP BY api_key) AS of_key) AS keys
  FROM back b GROUP BY company_id)""",  # noqa: S608
    budgets=""",
  day_tokens = CASE WHEN w.day = p.today THEN GREATEST(0,
    w.day_tokens - COALESCE(room.day, 0)) ELSE w.day_tokens END,
  hour_tokens = CASE WHEN w.hour = p.hour THEN w.hour_tokens || COALESCE((
    SELECT jsonb_object_agg(n.key, GREATEST(
      0, COALESCE((w.hour_tokens->>n.key)::bigint, 0) - n.value::bigint))
    FROM jsonb_each_text(room.hours) AS n), '{}') ELSE w.hour_tokens END,
  key_tokens = CASE WHEN w.key_day = p.today THEN w.key_tokens || COALESCE((
    SELECT jsonb_object_agg(k.key, GREATEST(
      0, COALESCE((w.key_tokens->>k.key)::bigint, 0) - k.value::bigint))
    FROM jsonb_each_text(room.keys) AS k), '{}') ELSE w.key_tokens END""",
    joined=" LEFT JOIN room USING (company_id) CROSS JOIN p",
)


def settle(cursor: CursorWrapper, settlements: Sequence[Settlement]) -> None:
    """Settles holds in the caller's transaction; each once, however often called."""
    payable = [settlement for settlement in settlements if settlement.amount]
    if not payable:
        return
    rows = [
        {
            "company_id": each.company_id,
            "kind": each.kind.value,
            "amount": each.amount,
            "message_id": each.message_id,
            "hold": each.hold,
            "proof": each.proof,
            "reason": each.reason,
            "country": each.country or Budget.UNKNOWN,
            "api_key": sql.key_name(each.api_key_id),
        }
        for each in payable
    ]
    params = {"settlements": dump_rows(rows), "time_zone": settings.TIME_ZONE}
    has_release = any(each.kind is TransferKind.RELEASE for each in payable)
    months = months_of(each.message_id for each in payable)
    cursor.execute(within(_RELEASE if has_release else _CAPTURE, months), params)


class HoldMoveResult(Enum):
    PAID = auto()
    TOO_FEW_TOKENS = auto()
    OVER_BUDGET = auto()


@dataclass(frozen=True, slots=True)
class HoldMove:
    """Exchanges a message's open hold for the next one, at another price."""

    company_id: int
    message_id: UUID
    hold: int  # number of the open hold
    old: int
    new: int
    reason: str
    country: str = ""
    api_key_id: int | None = None


# Locks every wallet that the caller's transaction will touch, ascending. Within a company the
# cheapest moves go first, and a refused move takes nothing from the others: the key's limit decides
# first, then the country's hour, the day, the wallet, each on the running sums of those still in.
# A move that fits one limit but not the next is no dearer than those after it, so these are refused
# there as well. A hold that exists already is an error: the message's own row would be wrong. A
# cheaper step refunds the budgets as a release does.
_MOVE_HOLDS = f"""
WITH p AS ({sql.PERIOD}),
w AS (
  SELECT company_id, available, day, day_tokens, hour, hour_tokens, key_day, key_tokens
  FROM billing_wallet
  WHERE company_id = ANY(%(all_companies)s::bigint[]) ORDER BY company_id FOR UPDATE),
wanted AS (
  SELECT m.*, new - old AS change,
    CASE WHEN new >= old OR w.day = p.today
      AND (h.created_at AT TIME ZONE %(time_zone)s::text)::date = p.today
      THEN new - old ELSE 0 END AS of_day,
    CASE WHEN new >= old OR w.hour = p.hour AND h.created_at >= p.hour
      THEN new - old ELSE 0 END AS of_hour
  FROM p CROSS JOIN unnest(
      %(companies)s::bigint[], %(messages)s::uuid[], %(holds)s::smallint[], %(old)s::bigint[],
      %(new)s::bigint[], %(reasons)s::text[], %(countries)s::text[], %(keys)s::text[]) AS m(
        company_id, message_id, hold, old, new, reason, country, api_key)
    LEFT JOIN w USING (company_id) LEFT JOIN billing_transfer h
      ON h.message_id = m.message_id AND h.hold = m.hold AND h.kind = 'hold'
      AND h.message_id BETWEEN :first_id AND :last_id),
by_key AS (
  SELECT n.*, change <= 0 OR {sql.key_used("n.api_key")} + sum(of_day) OVER (
      PARTITION BY n.company_id, n.api_key ORDER BY change, message_id)
      <= COALESCE(k.day_limit, {sql.NO_LIMIT}) AS is_within_key
  FROM p CROSS JOIN wanted n LEFT JOIN w USING (company_id)
    LEFT JOIN accounts_apikey k ON k.id = n.api_key::bigint),
by_hour AS (
  SELECT n.*, w.available, {sql.DAY_USED} AS day_used, budget.day AS day_budget,
    is_within_key AND (
      change <= 0 OR {sql.hour_used("n.country")} + sum(of_hour) FILTER (WHERE is_within_key) OVER (
        PARTITION BY n.company_id, n.country ORDER BY change, message_id) <= budget.hour) AS fits
  FROM p CROSS JOIN by_key n LEFT JOIN w USING (company_id)
    CROSS JOIN LATERAL ({sql.effective_budgets("n.company_id", "n.country")}) AS budget),
by_day AS (
  SELECT n.*, fits AND (change <= 0 OR day_used + sum(of_day) FILTER (WHERE fits) OVER (
    PARTITION BY company_id ORDER BY change, message_id) <= day_budget) AS is_within
  FROM by_hour n),
judged AS (
  SELECT n.*, COALESCE(available >= CASE WHEN is_within THEN 0 ELSE change END
    + COALESCE(sum(change) FILTER (WHERE is_within) OVER (
        PARTITION BY company_id ORDER BY change, message_id), 0), false) AS is_affordable
  FROM by_day n),
paid AS (SELECT * FROM judged WHERE is_affordable AND is_within),
moved AS (
  INSERT INTO billing_transfer (company_id, kind, amount, message_id, hold, proof, reason)
  SELECT company_id, 'release', old, message_id, hold, '', reason FROM paid WHERE old > 0
  UNION ALL
  SELECT company_id, 'hold', new, message_id, (hold + 1)::smallint, '', '' FROM paid
  WHERE new > 0),
changed AS (
  UPDATE billing_wallet w SET available = w.available - d.change, held = w.held + d.change,
    day = GREATEST(w.day, p.today), day_tokens = GREATEST(0, {sql.DAY_USED} + d.of_day),
    hour = GREATEST(w.hour, p.hour),
    hour_tokens = {sql.HOUR_BASE} || (
      SELECT jsonb_object_agg(
        n.country, GREATEST(0, {sql.hour_used("n.country")} + n.of_hour))
      FROM (SELECT country, sum(of_hour)::bigint AS of_hour FROM paid
            WHERE paid.company_id = w.company_id GROUP BY country) AS n),
    key_day = GREATEST(w.key_day, p.today),
    key_tokens = {sql.KEY_BASE} || (
      SELECT jsonb_object_agg(
        n.api_key, GREATEST(0, {sql.key_used("n.api_key")} + n.of_day))
      FROM (SELECT api_key, sum(of_day)::bigint AS of_day FROM paid
            WHERE paid.company_id = w.company_id GROUP BY api_key) AS n)
  FROM (SELECT company_id, sum(change) AS change, sum(of_day) AS of_day
        FROM paid GROUP BY company_id) d, p
  WHERE w.company_id = d.company_id)
SELECT message_id, is_affordable, is_within FROM judged
"""  # noqa: S608


class _JudgedMove(NamedTuple):
    """A row of `_MOVE_HOLDS`."""

    message_id: UUID
    is_affordable: bool
    is_within: bool

    def result(self) -> HoldMoveResult:
        if self.is_affordable and self.is_within:
            return HoldMoveResult.PAID
        return HoldMoveResult.OVER_BUDGET if self.is_affordable else HoldMoveResult.TOO_FEW_TOKENS


def move_holds(
    cursor: CursorWrapper, moves: Sequence[HoldMove], *, touching: Collection[int] = ()
) -> dict[UUID, HoldMoveResult]:
    """Exchanges the holds atomically and returns the result for each message; a refused move
    changes nothing. `touching`: companies whose holds the transaction settles later.
    """
    results = {
        move.message_id: HoldMoveResult.PAID for move in moves if not move.old and not move.new
    }
    priced = [move for move in moves if move.message_id not in results]
    if not priced:
        return results
    params: dict[str, Any] = {
        "companies": [move.company_id for move in priced],
        "messages": [move.message_id for move in priced],
        "holds": [move.hold for move in priced],
        "old": [move.old for move in priced],
        "new": [move.new for move in priced],
        "reasons": [move.reason for move in priced],
        "countries": [move.country or Budget.UNKNOWN for move in priced],
        "keys": [sql.key_name(move.api_key_id) for move in priced],
        "all_companies": list({*touching, *(move.company_id for move in priced)}),
    }
    months = months_of(move.message_id for move in priced)
    cursor.execute(within(_MOVE_HOLDS, months), params | sql.floors())
    return results | {move.message_id: move.result() for move in fetch_all(cursor, _JudgedMove)}


@transaction.atomic
def grant(
    *, company: Company, amount: int, reason: str, user: User | None = None, key: str | None = None
) -> Transfer:
    """Grants tokens; with a `key`, once for that key (IntegrityError otherwise)."""
    return _transfer(TransferKind.GRANT, company, amount, reason=reason, user=user, key=key)


def top_up(*, company: Company, amount: int, key: str, reason: str = "") -> Transfer:
    """Credits paid tokens in the caller's transaction; once per key (IntegrityError otherwise)."""
    return _transfer(TransferKind.TOP_UP, company, amount, reason=reason, user=None, key=key)


@transaction.atomic
def withdraw(
    *, company: Company, amount: int, reason: str, user: User | None = None, key: str | None = None
) -> Transfer:
    """Takes available tokens back, with a `key` once for that key; raises IntegrityError if there
    are too few or the key was used.
    """
    return _transfer(TransferKind.WITHDRAW, company, -amount, reason=reason, user=user, key=key)


@transaction.atomic
def take_back(*, company: Company, amount: int, key: str, reason: str) -> int:
    """Withdraws as many of these tokens as are available; returns how many."""
    wallets = Wallet.objects.select_for_update().filter(company=company)
    taken = min(amount, wallets.values_list("available", flat=True).first() or 0)
    if taken:
        withdraw(company=company, amount=taken, reason=reason, key=key)
    return taken


def _transfer(
    kind: TransferKind,
    company: Company,
    change: int,
    *,
    reason: str,
    user: User | None,
    key: str | None,
) -> Transfer:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO billing_wallet (company_id, available, held) VALUES (%s, 0, 0)"
            " ON CONFLICT DO NOTHING",
            [company.pk],
        )
        cursor.execute(
            f"UPDATE billing_wallet SET available = available + %s, moved_at = {_AT}"  # noqa: S608
            " WHERE company_id = %s RETURNING available + held, moved_at",
            [change, company.pk],
        )
        balance_after, at = cursor.fetchone()
    return Transfer.objects.create(
        company=company,
        kind=kind,
        # A check constraint rejects a wrong sign.
        amount=-change if kind is TransferKind.WITHDRAW else change,
        key=key or f"{kind}:{uuid4().hex}",
        reason=reason,
        created_by=user,
        created_at=at,
        balance_after=balance_after,
    )


def balance(company_id: int) -> tuple[int, int]:
    """(available, held); a company that never had tokens has (0, 0)."""
    wallets = Wallet.objects.filter(company_id=company_id)
    return wallets.values_list("available", "held").first() or (0, 0)
