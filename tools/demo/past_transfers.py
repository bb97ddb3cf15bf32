"""Transfers in the past, which no product code may write, for a generated history.

Otherwise only the ledger writes wallets and transfers. Its rules also hold here: a wallet must have
the tokens, and each hold has one settlement, so `manage.py reconcile` finds no breach.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from billing.models import SealedDay
from tools.demo import DemoError

# `rows` selects holds and their settlements, top-ups, grants and withdrawals.
_BOOK = """
WITH history AS ({rows}), moved AS (
  INSERT INTO billing_transfer
    (company_id, kind, amount, key, message_id, hold, proof, reason, created_at, balance_after)
  SELECT company_id, kind, amount, key, message_id, hold, proof, reason, created_at,
    CASE WHEN kind NOT IN ('hold', 'release') THEN 0 END FROM history
  RETURNING kind, amount, company_id),
due AS (
  SELECT company_id,
         sum(CASE WHEN kind IN ('hold', 'withdraw') THEN -amount WHEN kind = 'capture' THEN 0
                  ELSE amount END) AS available,
         sum(CASE WHEN kind = 'hold' THEN amount WHEN kind IN ('capture', 'release') THEN -amount
                  ELSE 0 END) AS held
  FROM moved GROUP BY company_id)
UPDATE billing_wallet w SET available = w.available + due.available, held = w.held + due.held
FROM due WHERE w.company_id = due.company_id
"""
_CORRECT = """
UPDATE billing_transfer t SET balance_after = lines.balance FROM (
  SELECT id, sum(CASE WHEN kind IN ('top_up', 'grant') THEN amount ELSE -amount END) OVER (
    PARTITION BY company_id ORDER BY created_at, id) AS balance
  FROM billing_transfer WHERE company_id = ANY(%s) AND balance_after IS NOT NULL) AS lines
WHERE t.id = lines.id AND t.balance_after <> lines.balance
"""


def book(cursor: CursorWrapper, rows: str, params: Mapping[str, Any]) -> None:
    """Writes transfers; raises DemoError if days are already sealed."""
    if sealed := SealedDay.last():
        raise DemoError(f"The days up to {sealed} are sealed: use a new database.")
    cursor.execute(_BOOK.format(rows=rows), params)


@transaction.atomic
def correct_balances(company_ids: Sequence[int]) -> None:
    """Corrects the balance after each transfer, since they are not written in order of time."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute("SET LOCAL session_replication_role = replica")  # past the trigger
        cursor.execute(_CORRECT, [list(company_ids)])
        cursor.execute("SET LOCAL session_replication_role = origin")
