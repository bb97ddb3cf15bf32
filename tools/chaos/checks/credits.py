"""Every paid order is credited exactly once, and nothing else is."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from django.db import connection

from config.storage.statements.named_rows import fetch_all
from tools.chaos.checks.verdicts import Finding

_CREDITS = """
SELECT o.id::text AS order_id, o.gateway, o.state, o.tokens,
  (SELECT count(*) FROM billing_payment p WHERE p.order_id = o.id AND p.is_credited) AS payments,
  t.many AS transfers, t.tokens AS credited
FROM billing_order o, LATERAL (
  SELECT count(*) AS many, COALESCE(sum(amount), 0)::bigint AS tokens FROM billing_transfer
  WHERE message_id IS NULL AND kind = 'top_up' AND key = 'top_up:' || replace(o.id::text, '-', '')
) AS t
ORDER BY o.id
"""
_STRANGE = """
SELECT COALESCE(key, id::text) FROM billing_transfer
WHERE kind = 'top_up' AND key NOT IN (
  SELECT 'top_up:' || replace(id::text, '-', '') FROM billing_order)
"""


class _Credit(NamedTuple):
    """A row of `_CREDITS`."""

    order_id: str
    gateway: str
    state: str
    tokens: int
    payments: int
    transfers: int
    credited: int


def findings(
    paid: Collection[str], placed: int, *, refused: Collection[str], hits: int, planned: int
) -> Iterator[Finding]:
    """`paid`: ids of the orders that money came for; `placed`: how many top-ups were asked for."""
    with connection.cursor() as cursor:
        cursor.execute(_CREDITS)
        orders = fetch_all(cursor, _Credit)
        cursor.execute(_STRANGE)
        wrong = [f"{key}: a credit of no order" for (key,) in cursor.fetchall()]
    wrong += [text for order in orders if (text := _fault_of(order, set(paid)))]
    wrong += [
        f"{one}: paid, and unknown" for one in sorted(set(paid) - {o.order_id for o in orders})
    ]
    wrong += [f"{one}: refused" for one in refused]
    if len(orders) != placed:
        wrong.append(f"{len(orders)} orders for {placed} top-ups")
    yield Finding("credits", "every paid order is credited exactly once", wrong)
    missed = [] if hits or not planned else [f"none of {planned} credits was met"]
    yield Finding("credit kills", "processes were killed between notice and credit", missed)


def _fault_of(order: _Credit, paid: Collection[str]) -> str:
    wanted = 1 if order.order_id in paid else 0
    facts = (order.payments, order.transfers, order.credited, order.state == "paid")
    if facts == (wanted, wanted, wanted * order.tokens, bool(wanted)):
        return ""
    said = "paid" if wanted else "not paid"
    return (
        f"{order.order_id} by {order.gateway}: {said}, {order.state}, {order.payments} payments and"
        f" {order.transfers} transfers of {order.credited} of {order.tokens} tokens"
    )
