"""Tokens are used, withdrawn and given back lot by lot, in a fixed order."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from billing.documents import lots
from billing.documents.lots import TooFewTokensError
from billing.models import Lot

START = datetime(2026, 9, 1, tzinfo=UTC)


def lot(day: int, tokens: int, amount: str = "0", order: UUID | None = None) -> Lot:
    currency = "RUB" if Decimal(amount) else ""
    return Lot(
        order_id=order,
        received_at=START + timedelta(days=day),
        tokens=tokens,
        amount=Decimal(amount),
        currency=currency,
    )


def test_oldest_tokens_are_used_first() -> None:
    stock = [lot(2, 100, "90.00"), lot(1, 50, "100.00")]

    charges = lots.use(stock, 60)

    assert [(each.lot, each.tokens, each.amount) for each in charges] == [
        (stock[1], 50, Decimal("100.00")),
        (stock[0], 10, Decimal("9.00")),
    ]


def test_more_than_there_is_is_refused() -> None:
    with pytest.raises(TooFewTokensError):
        lots.use([lot(1, 5, "1.00")], 6)


@given(
    tokens=st.integers(1, 10**6),
    cents=st.integers(1, 10**9),
    cuts=st.lists(st.integers(0, 10**6), max_size=20),
)
def test_parts_of_a_lot_add_up_to_its_amount(tokens: int, cents: int, cuts: list[int]) -> None:
    whole = lot(1, tokens, str(Decimal(cents) / 100))
    bounds = sorted({0, tokens, *(cut for cut in cuts if cut < tokens)})

    parts = [
        charge.amount
        for first, last in pairwise(bounds)
        for charge in lots.use([whole], last - first)
    ]

    assert sum(parts) == whole.amount
    assert min(parts) >= 0


def test_refund_withdraws_its_order_first() -> None:
    mine = uuid4()
    stock = [lot(1, 10, "10.00"), lot(2, 10, "10.00", order=mine), lot(3, 10)]

    lots.withdraw(stock, [(15, mine)])

    assert [each.withdrawn for each in stock] == [0, 10, 5]


def test_withdrawals_take_newest_granted_tokens_first() -> None:
    stock = [lot(1, 10), lot(2, 10, "10.00"), lot(3, 10)]

    lots.withdraw(stock, [(12, None)])

    assert [each.withdrawn for each in stock] == [2, 0, 10]


def test_dispute_that_was_won_gives_back_what_it_took() -> None:
    mine = uuid4()
    stock = [lot(1, 10, "10.00", order=mine)]
    lots.withdraw(stock, [(6, mine)])

    rest = lots.restore_withdrawn(stock, {mine: 8})

    assert (stock[0].withdrawn, rest) == (0, {mine: 2})


def test_dispute_of_used_tokens_gives_back_those_of_other_lots() -> None:
    mine = uuid4()
    used = lot(1, 10, "19.00", order=mine)
    other = lot(2, 10, "10.00")
    lots.use([used], 10)
    lots.withdraw([used, other], [(10, mine)])

    rest = lots.restore_withdrawn([used, other], {mine: 10})
    charges = lots.use([used, other], 10)

    assert rest == {}
    assert [(each.lot, each.amount) for each in charges] == [(other, Decimal("10.00"))]


def test_granted_lot_is_used_free_of_charge() -> None:
    stored_later = Lot(received_at=START, tokens=10)

    assert lots.use([stored_later], 4)[0].amount == Decimal("0.00")
