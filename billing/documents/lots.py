"""The lots of tokens that pay for usage, oldest first.

A refund takes the tokens of its own order first; any other withdrawal takes granted tokens, newest
first, before paid ones. Pure: rows in, changed rows out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from uuid import UUID

from billing.models import Lot


class TooFewTokensError(Exception):
    """More was used than was ever received: the books are wrong."""


@dataclass(frozen=True, slots=True)
class Charge:
    """Tokens used from one lot."""

    lot: Lot
    tokens: int
    amount: Decimal


Withdrawal = tuple[int, UUID | None]  # tokens, and the order of a refund


def withdraw(lots: Sequence[Lot], withdrawals: Iterable[Withdrawal]) -> None:
    for tokens, order_id in withdrawals:
        remaining = tokens
        for lot in sorted(lots, key=partial(_rank, order_id)):
            withdrawn = min(remaining, lot.left)
            lot.withdrawn += withdrawn
            remaining -= withdrawn
        if remaining:
            raise TooFewTokensError


def _rank(order_id: UUID | None, lot: Lot) -> tuple[bool, bool, float]:
    is_own = order_id is not None and lot.order_id == order_id
    return not is_own, bool(lot.currency), -lot.received_at.timestamp()


def restore_withdrawn(lots: Sequence[Lot], returned: Mapping[UUID, int]) -> dict[UUID, int]:
    """Undoes what refunds of these orders withdrew; returns what is left over.

    If the order's own tokens were used, its refund took tokens of other lots; that usage is paid
    for and is not undone.
    """
    remaining = dict(returned)
    for order_id in returned:
        last_first = sorted(lots, key=partial(_rank, order_id), reverse=True)
        for lot in sorted(last_first, key=lambda lot: lot.order_id != order_id):
            undone = min(remaining[order_id], lot.withdrawn)
            lot.withdrawn -= undone
            remaining[order_id] -= undone
    return {order_id: tokens for order_id, tokens in remaining.items() if tokens}


def use(lots: Sequence[Lot], tokens: int) -> list[Charge]:
    """Uses up `tokens`, the oldest lots first."""
    charges = []
    for lot in sorted(lots, key=lambda lot: (lot.received_at, lot.pk or 0)):
        if used := min(tokens, lot.left):
            amount = lot.cost_of_first(lot.used + used) - lot.cost_of_first(lot.used)
            charges.append(Charge(lot, used, amount))
            lot.used += used
            tokens -= used
    if tokens:
        raise TooFewTokensError
    return charges
