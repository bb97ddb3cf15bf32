"""The only writer of wallets and transfers.

Every kind of transfer names the account it debits and the one it credits, so the books balance
by construction. A hold is opened inside the statement that accepts a message (`HOLD` below), is
exchanged for that of the next channel by `move_hold`, and leaves only through `settle`. Wallets are
locked last, companies ascending.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from accounts.models import Company, User
from billing.models import Transfer, Wallet

Kind = Transfer.Kind
Proof = Transfer.Proof

# kind → (account debited, account credited); `outside` is the world that pays us and is paid.
ACCOUNTS: dict[Kind, tuple[str, str]] = {
    Kind.TOP_UP: ("outside", "available"),
    Kind.GRANT: ("outside", "available"),
    Kind.WITHDRAW: ("available", "outside"),
    Kind.HOLD: ("available", "held"),
    Kind.CAPTURE: ("held", "spent"),
    Kind.RELEASE: ("held", "available"),
}

# Fragments of the statement that accepts a message. The condition in the UPDATE is what keeps
# parallel sends from spending a token twice; no row means nothing at all was written.
HOLD_WALLET = """
UPDATE billing_wallet SET available = available - %(price)s, held = held + %(price)s
WHERE company_id = %(company_id)s AND available >= %(price)s AND EXISTS (SELECT 1 FROM allowed)
RETURNING company_id"""

HOLD_TRANSFER = """
INSERT INTO billing_transfer (company_id, kind, amount, key, message_id, proof, reason)
SELECT company_id, 'hold', %(price)s, %(hold_key)s::text, %(message_id)s, '', '' FROM payer"""


def hold_key(message_id: UUID, n: int = 1) -> str:
    return f"hold:{message_id.hex}:{n}"


def settle_key(message_id: UUID, n: int) -> str:
    """One for capture and release, so that of a hold only one of them happens."""
    return f"settle:{message_id.hex}:{n}"


@dataclass(frozen=True, slots=True)
class Settlement:
    """What becomes of one hold: captured with a proof, or released with a reason."""

    company_id: int
    message_id: UUID
    hold: int
    amount: int
    kind: Kind
    proof: str = ""
    reason: str = ""


# A hold settled twice conflicts on the key, a message captured twice on its own index: such rows
# are skipped, and since only rows inserted here move the wallet, so is their money.
_SETTLE = """
WITH moved AS (
  INSERT INTO billing_transfer (company_id, kind, amount, key, message_id, proof, reason)
  SELECT * FROM unnest(%s::bigint[], %s::text[], %s::bigint[], %s::text[], %s::uuid[],
                       %s::text[], %s::text[])
  ON CONFLICT DO NOTHING RETURNING company_id, kind, amount),
due AS (
  SELECT company_id, sum(amount) AS settled,
         COALESCE(sum(amount) FILTER (WHERE kind = 'release'), 0) AS returned
  FROM moved GROUP BY company_id),
locked AS (
  SELECT company_id FROM billing_wallet WHERE company_id IN (SELECT company_id FROM due)
  ORDER BY company_id FOR UPDATE)
UPDATE billing_wallet w
SET held = w.held - due.settled, available = w.available + due.returned
FROM due JOIN locked USING (company_id) WHERE w.company_id = due.company_id
"""


def settle(cursor: CursorWrapper, settlements: Sequence[Settlement]) -> None:
    """Resolve holds inside the caller's transaction, each exactly once however often asked."""
    rows = [
        (
            one.company_id,
            one.kind.value,
            one.amount,
            settle_key(one.message_id, one.hold),
            one.message_id,
            one.proof,
            one.reason,
        )
        for one in settlements
        if one.amount
    ]
    if rows:
        cursor.execute(_SETTLE, [list(column) for column in zip(*rows, strict=True)])


@dataclass(frozen=True, slots=True)
class Move:
    """An open hold to be released for the next one of the same message, at another price."""

    company_id: int
    message_id: UUID
    hold: int  # the number of the open one
    old: int
    new: int
    reason: str


# Every wallet that the caller's transaction is going to touch is locked here, ascending. Within a
# company the cheapest go first: whoever is refused then could not have been paid for anyway. Keys
# that are there already are an error, for then the message's own row has lied.
_MOVE_HOLD = """
WITH wanted AS (
  SELECT n.*, sum(n.new - n.old) OVER (PARTITION BY n.company_id
                                       ORDER BY n.new - n.old, n.message_id) AS needed
  FROM unnest(%(companies)s::bigint[], %(messages)s::uuid[], %(old)s::bigint[], %(new)s::bigint[],
              %(settle_keys)s::text[], %(hold_keys)s::text[], %(reasons)s::text[])
    AS n(company_id, message_id, old, new, settle_key, hold_key, reason)),
locked AS (
  SELECT company_id, available FROM billing_wallet
  WHERE company_id = ANY(%(all_companies)s::bigint[]) ORDER BY company_id FOR UPDATE),
paid AS (
  SELECT wanted.* FROM wanted JOIN locked USING (company_id) WHERE locked.available >= needed),
moved AS (
  INSERT INTO billing_transfer (company_id, kind, amount, key, message_id, proof, reason)
  SELECT company_id, 'release', old, settle_key, message_id, '', reason FROM paid WHERE old > 0
  UNION ALL
  SELECT company_id, 'hold', new, hold_key, message_id, '', '' FROM paid WHERE new > 0),
changed AS (
  UPDATE billing_wallet w SET available = w.available - d.more, held = w.held + d.more
  FROM (SELECT company_id, sum(new - old) AS more FROM paid GROUP BY company_id) d
  WHERE w.company_id = d.company_id)
SELECT message_id FROM paid
"""


def move_hold(
    cursor: CursorWrapper, moves: Sequence[Move], *, touching: Collection[int] = ()
) -> set[UUID]:
    """The messages whose next hold could be paid for, exchanged for the last one at once; of the
    others nothing has changed. `touching`: companies that the transaction settles holds of later.
    """
    paid = {one.message_id for one in moves if not one.old and not one.new}
    asked = [one for one in moves if one.message_id not in paid]
    if not asked:
        return paid
    params: dict[str, Any] = {
        "companies": [one.company_id for one in asked],
        "messages": [one.message_id for one in asked],
        "old": [one.old for one in asked],
        "new": [one.new for one in asked],
        "settle_keys": [settle_key(one.message_id, one.hold) for one in asked],
        "hold_keys": [hold_key(one.message_id, one.hold + 1) for one in asked],
        "reasons": [one.reason for one in asked],
        "all_companies": list({*touching, *(one.company_id for one in asked)}),
    }
    cursor.execute(_MOVE_HOLD, params)
    return paid | {message_id for (message_id,) in cursor.fetchall()}


@transaction.atomic
def grant(
    *, company: Company, amount: int, reason: str, user: User | None = None, key: str | None = None
) -> Transfer:
    """Give tokens for a reason; with a `key`, once for that key (IntegrityError otherwise)."""
    return _move(Kind.GRANT, company, amount, reason=reason, user=user, key=key)


def top_up(*, company: Company, amount: int, key: str, reason: str = "") -> Transfer:
    """Paid tokens, in the caller's transaction; once for the key (IntegrityError otherwise)."""
    return _move(Kind.TOP_UP, company, amount, reason=reason, user=None, key=key)


@transaction.atomic
def withdraw(
    *, company: Company, amount: int, reason: str, user: User | None = None, key: str | None = None
) -> Transfer:
    """Take available tokens back, with a `key` once for that key; IntegrityError when there are
    not that many, or the key was used.
    """
    return _move(Kind.WITHDRAW, company, -amount, reason=reason, user=user, key=key)


def _move(
    kind: Kind, company: Company, change: int, *, reason: str, user: User | None, key: str | None
) -> Transfer:
    transfer = Transfer.objects.create(
        company=company,
        kind=kind,
        amount=-change if kind is Kind.WITHDRAW else change,  # the table refuses a wrong sign
        key=key or f"{kind}:{uuid4().hex}",
        reason=reason,
        created_by=user,
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO billing_wallet (company_id, available, held) VALUES (%s, 0, 0)"
            " ON CONFLICT DO NOTHING",
            [company.pk],
        )
        cursor.execute(
            "UPDATE billing_wallet SET available = available + %s WHERE company_id = %s",
            [change, company.pk],
        )
    return transfer


def balance(company_id: int) -> tuple[int, int]:
    """(available, held); a company that never had tokens has (0, 0)."""
    found = Wallet.objects.filter(company_id=company_id).values_list("available", "held").first()
    return found or (0, 0)


# By the company's own index: one for all companies would make every transfer dearer.
_SETTLED = """
SELECT w.company_id, t.spent, t.returned FROM billing_wallet w, LATERAL (
  SELECT COALESCE(sum(amount) FILTER (WHERE kind = 'capture'), 0)::bigint AS spent,
         COALESCE(sum(amount) FILTER (WHERE kind = 'release'), 0)::bigint AS returned
  FROM billing_transfer WHERE company_id = w.company_id
    AND created_at >= %(start)s AND created_at < %(end)s) t
WHERE (%(company_id)s::bigint IS NULL OR w.company_id = %(company_id)s) AND spent + returned > 0
"""


def settled(
    start: datetime, end: datetime, company_id: int | None = None
) -> list[tuple[int, int, int]]:
    """(company, tokens spent, tokens returned) of every company, or of one, that had any."""
    with connection.cursor() as cursor:
        cursor.execute(_SETTLED, {"start": start, "end": end, "company_id": company_id})
        return [(company, spent, returned) for company, spent, returned in cursor.fetchall()]


# For seeders of demo data: `past` has rows of holds and what became of them, with their own times.
_BOOK_PAST = """
WITH past AS ({past}), moved AS (
  INSERT INTO billing_transfer
    (company_id, kind, amount, key, message_id, proof, reason, created_at)
  SELECT company_id, kind, amount, key, message_id, proof, reason, created_at FROM past
  RETURNING kind, amount, company_id),
due AS (
  SELECT company_id,
         sum(CASE kind WHEN 'hold' THEN -amount WHEN 'capture' THEN 0 ELSE amount END) AS available,
         sum(CASE kind WHEN 'hold' THEN amount WHEN 'grant' THEN 0 ELSE -amount END) AS held
  FROM moved GROUP BY company_id)
UPDATE billing_wallet w SET available = w.available + due.available, held = w.held + due.held
FROM due WHERE w.company_id = due.company_id
"""


def book_past(cursor: CursorWrapper, past: str, params: Mapping[str, Any]) -> None:
    """Write the transfers of past messages; the wallet must have the tokens for them."""
    cursor.execute(_BOOK_PAST.format(past=past), params)
