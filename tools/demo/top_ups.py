"""Top-ups that pay for made-up messages: an order, its payment and its transfer."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from billing.models import Order, Payment
from config.ids import first_id_at
from config.input.days import start_of
from tools.demo import past_transfers

GATEWAY = "demo"  # none that could be asked about such a payment
TOKENS_PER_MESSAGE, SPARE = 6, 1_000  # more than a message costs on average
ROUND = 100
_PRICE = Decimal("1.90")
_TRANSFERS = """
SELECT company_id, 'top_up' AS kind, tokens AS amount,
  'top_up:' || replace(id::text, '-', '') AS key, NULL::uuid AS message_id,
  NULL::int AS hold, '' AS proof, '' AS reason, created_at
FROM billing_order WHERE id = ANY(%(orders)s)"""


@transaction.atomic
def buy(company_ids: Sequence[int], weights: Sequence[float], messages: Mapping[date, int]) -> None:
    """For each month what its messages may cost, and an order in ten that nobody pays."""
    shares = [high - low for low, high in pairwise((0.0, *weights, 1.0))]
    paid, unpaid = [], []
    for at, count in _months(messages).items():
        for n, (company_id, share) in enumerate(zip(company_ids, shares, strict=True)):
            tokens = int(count * share * TOKENS_PER_MESSAGE) + SPARE
            paid.append(_order(company_id, at, tokens))
            if n % 10 == at.month % 10:
                unpaid.append(_order(company_id, at + timedelta(hours=3), tokens, is_paid=False))
    _store(paid, unpaid)


_SHORT = """
SELECT w.company_id, due.tokens - w.available, due.at FROM billing_wallet w JOIN (
  SELECT company_id, sum(COALESCE(first_price, 0) + price) AS tokens, min(at) AS at
  FROM demo_message GROUP BY company_id) AS due USING (company_id)
WHERE due.tokens > w.available"""


def cover(cursor: CursorWrapper) -> None:
    """Where a month's top-up is used up: as an automatic top-up would, right before."""
    cursor.execute(_SHORT)
    short: list[tuple[int, int, datetime]] = cursor.fetchall()
    _store([_order(pk, at - timedelta(seconds=1), int(lack) + SPARE) for pk, lack, at in short])


def _months(messages: Mapping[date, int]) -> dict[datetime, int]:
    """Messages of each month, by the time of its first day."""
    found: dict[date, list[int]] = {}
    firsts: dict[date, date] = {}
    for day, count in messages.items():
        if count:
            month = day.replace(day=1)
            firsts.setdefault(month, day)
            found.setdefault(month, []).append(count)
    return {start_of(firsts[month]): sum(counts) for month, counts in found.items()}


def _order(company_id: int, at: datetime, tokens: int, *, is_paid: bool = True) -> Order:
    tokens = -(-tokens // ROUND) * ROUND
    paid = {"state": Order.State.PAID, "paid_at": at}
    fields: dict[str, Any] = paid if is_paid else {"state": Order.State.EXPIRED}
    return Order(
        id=_id(at),
        company_id=company_id,
        tokens=tokens,
        amount=tokens * _PRICE,
        currency="RUB",
        gateway=GATEWAY,
        payment_id="",
        created_at=at,
        expires_at=at + timedelta(hours=1),
        finished_at=at,
        **fields,
    )


def _id(at: datetime) -> UUID:
    return UUID(int=first_id_at(at).int | secrets.randbits(62))


def _store(paid: Sequence[Order], unpaid: Iterable[Order] = ()) -> None:
    Order.objects.bulk_create([*paid, *unpaid], batch_size=1000)
    Payment.objects.bulk_create([_payment(order) for order in paid], batch_size=1000)
    with connection.cursor() as cursor:
        past_transfers.book(cursor, _TRANSFERS, {"orders": [order.pk for order in paid]})


def _payment(order: Order) -> Payment:
    return Payment(
        gateway=GATEWAY,
        payment_id=f"demo-{order.pk.hex}",
        order=order,
        amount=order.amount,
        currency=order.currency,
        is_credited=True,
        created_at=order.created_at,
        settled_at=order.created_at,
    )
