"""The only writer of wallets and transfers, with the fragments of `billing.wallet.holds`.

Every kind of transfer debits one account and credits another, so the books balance: a hold moves
tokens from available to held, a capture on to spent, a release back; the other kinds are between
available and the world outside. The statement that accepts a message opens its hold
(`billing.wallet.holds`); `move_holds` exchanges it for the hold of the next channel; only `settle`,
or a statement with `capture_sql`, closes it. Wallets are locked last, by ascending company, except
by the statement that accepts a send (decision 0002); groups of sends skip locked wallets.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction
from django.db.backends.utils import CursorWrapper

from accounts.models import Company, User
from billing.budgets import sql
from billing.models import Budget, Transfer, Wallet
from storage.months.recent_ids import limit_to_months, months_of
from storage.statements import sql_files
from storage.statements.json_rows import dump_rows, json_rows
from storage.statements.named_rows import fetch_all
from storage.statements.queries import execute, fetch_tuples

TransferKind = Transfer.Kind
DeliveryProof = Transfer.Proof


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
    country: str = ""  # country whose hourly budget a release in the same hour refunds
    api_key_id: int | None = None  # key whose daily limit it refunds


# A time that never repeats, so that each balance follows from the previous one in time order.
_AT = "GREATEST(clock_timestamp(), moved_at + interval '1 microsecond')"
_SETTLEMENTS = json_rows(
    "settlements",
    "company_id bigint, kind text, amount bigint, message_id uuid, hold smallint, proof text,"
    " reason text, country text, api_key text",
)
_SETTLE = sql_files.read("billing/wallet/settle.sql")
_CAPTURE_WALLETS = sql_files.read("billing/wallet/capture.sql")
_SETTLE_ROWS = sql_files.fill(_SETTLE, at=_AT, settlements=_SETTLEMENTS)
_CAPTURE = f"WITH {_SETTLE_ROWS} {_CAPTURE_WALLETS}"
_RELEASE = sql_files.fill(
    f"WITH {_SETTLE_ROWS}, {sql_files.read('billing/wallet/release.sql')}", period=sql.PERIOD
)


def capture_sql(holds: str) -> str:
    """CTEs that capture the holds of this query, for a statement that settles them.

    Columns of the query: company_id, kind ("capture"), amount, message_id, hold, proof, reason.
    """
    settled = sql_files.fill(_SETTLE, at=_AT, settlements=f"({holds}) AS holds")
    return f"{settled}, charged AS ({_CAPTURE_WALLETS})"


def settle(cursor: CursorWrapper, settlements: Sequence[Settlement]) -> None:
    """Settles holds in the caller's transaction, each once, even if called again."""
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
    cursor.execute(limit_to_months(_RELEASE if has_release else _CAPTURE, months), params)


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
    old_price: int
    new_price: int
    reason: str
    country: str = ""
    api_key_id: int | None = None


_MOVE_HOLDS = sql_files.fill(
    sql_files.read("billing/wallet/move_holds.sql"),
    period=sql.PERIOD,
    day_used=sql.DAY_USED,
    hour_base=sql.HOUR_BASE,
    hour_used=sql.hour_used("move.country"),
    key_base=sql.KEY_BASE,
    key_used=sql.key_used("move.api_key"),
    no_limit=str(sql.NO_LIMIT),
    effective_budgets=sql.effective_budgets("move.company_id", "move.country"),
)


class _EvaluatedMove(NamedTuple):
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
    """Exchanges the holds atomically; returns the result of each message.

    A refused move changes nothing. `touching`: companies whose holds the transaction settles later.
    """
    results = {
        move.message_id: HoldMoveResult.PAID
        for move in moves
        if move.old_price == move.new_price == 0
    }
    priced = [move for move in moves if move.message_id not in results]
    if not priced:
        return results
    params: dict[str, Any] = {
        "companies": [move.company_id for move in priced],
        "messages": [move.message_id for move in priced],
        "holds": [move.hold for move in priced],
        "old_prices": [move.old_price for move in priced],
        "new_prices": [move.new_price for move in priced],
        "reasons": [move.reason for move in priced],
        "countries": [move.country or Budget.UNKNOWN for move in priced],
        "keys": [sql.key_name(move.api_key_id) for move in priced],
        "all_companies": list({*touching, *(move.company_id for move in priced)}),
    }
    months = months_of(move.message_id for move in priced)
    cursor.execute(limit_to_months(_MOVE_HOLDS, months), params | sql.floors())
    return results | {move.message_id: move.result() for move in fetch_all(cursor, _EvaluatedMove)}


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
    """Takes available tokens back, with a `key` once for that key.

    Raises IntegrityError if there are too few, or if the key was used.
    """
    return _transfer(TransferKind.WITHDRAW, company, -amount, reason=reason, user=user, key=key)


@transaction.atomic
def take_back(*, company: Company, amount: int, key: str, reason: str) -> int:
    """Withdraws as many of these tokens as are available; returns how many."""
    wallets = Wallet.objects.select_for_update().filter(company=company)
    withdrawn = min(amount, wallets.values_list("available", flat=True).first() or 0)
    if withdrawn:
        withdraw(company=company, amount=withdrawn, reason=reason, key=key)
    return withdrawn


def _transfer(
    kind: TransferKind,
    company: Company,
    change: int,
    *,
    reason: str,
    user: User | None,
    key: str | None,
) -> Transfer:
    execute(
        "INSERT INTO billing_wallet (company_id, available, held) VALUES (%s, 0, 0)"
        " ON CONFLICT DO NOTHING",
        [company.pk],
    )
    [(balance_after, at)] = fetch_tuples(
        f"UPDATE billing_wallet SET available = available + %s, moved_at = {_AT}"  # noqa: S608
        " WHERE company_id = %s RETURNING available + held, moved_at",
        [change, company.pk],
    )
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


class Balance(NamedTuple):
    available: int
    held: int


def balance(company_id: int) -> Balance:
    """The company's balance; zeros if it never had tokens."""
    wallets = Wallet.objects.filter(company_id=company_id)
    return Balance(*wallets.values_list("available", "held").first() or (0, 0))
