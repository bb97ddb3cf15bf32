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
from tools.queries import queries

_SQL = queries(__file__)


def book(cursor: CursorWrapper, rows: str, params: Mapping[str, Any]) -> None:
    """Writes transfers; raises DemoError if days are already sealed."""
    if sealed := SealedDay.last():
        raise DemoError(f"The days up to {sealed} are sealed: use a new database.")
    cursor.execute(_SQL["book"].text.format(rows=rows), params)


@transaction.atomic
def correct_balances(company_ids: Sequence[int]) -> None:
    """Corrects the balance after each transfer, since they are not written in order of time."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute("SET LOCAL session_replication_role = replica")  # past the trigger
        cursor.execute(_SQL["correct"].text, [list(company_ids)])
        cursor.execute("SET LOCAL session_replication_role = origin")
