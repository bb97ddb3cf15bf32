"""What was paid: kept in a file, since a provider does not forget when it restarts."""

import json
import secrets
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

OPEN, PAID, CANCELED = "open", "paid", "canceled"


@dataclass(slots=True)
class Payment:
    """A payment page of one provider, and what became of it."""

    id: str
    provider: str
    order: str  # as the shop calls it; empty where the provider has no field for it
    amount: str
    currency: str
    title: str
    return_url: str
    state: str = OPEN
    reference: str = field(default_factory=lambda: f"pi_{secrets.token_hex(12)}")
    key: str = ""  # the idempotency key that made it
    refunds: dict[str, str] = field(default_factory=dict)  # id → amount
    disputed: bool = False
    fields: dict[str, str] = field(default_factory=dict)  # of the form that made it
    at: float = field(default_factory=time.time)

    def shown(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def left(self) -> Decimal:
        """Of the money, after refunds."""
        return Decimal(self.amount) - sum(map(Decimal, self.refunds.values()))


@dataclass(slots=True)
class Operation:
    """One line of the bank account's statement."""

    amount: str
    purpose: str
    is_incoming: bool = True
    inn: str = "7800000002"
    name: str = 'ООО "Ромашка"'
    currency: str = "643"
    number: str = field(default_factory=lambda: str(secrets.randbelow(900_000) + 100_000))
    id: str = field(default_factory=lambda: str(uuid4()))
    at: float = field(default_factory=time.time)


class PaymentBook:
    """Every change is committed before it is answered or told."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        for table in ("payments", "operations"):
            self._database.execute(
                f"CREATE TABLE IF NOT EXISTS {table} (id TEXT PRIMARY KEY, facts TEXT NOT NULL)"
            )
        self.payments = {one["id"]: Payment(**one) for one in self._rows("payments")}
        self.operations = [Operation(**one) for one in self._rows("operations")]

    def save(self, payment: Payment) -> None:
        self.payments[payment.id] = payment
        self._write("payments", payment.id, asdict(payment))

    def book(self, operation: Operation) -> None:
        self.operations.append(operation)
        self._write("operations", operation.id, asdict(operation))

    def of(self, provider: str, payment_id: str) -> Payment | None:
        payment = self.payments.get(payment_id)
        return payment if payment is not None and payment.provider == provider else None

    def made_by(self, provider: str, key: str) -> Payment | None:
        """The payment that an earlier call with this idempotency key has made."""
        own = (one for one in self.payments.values() if one.provider == provider)
        return next((one for one in own if key and one.key == key), None)

    def newest(self) -> Iterator[Payment]:
        return iter(sorted(self.payments.values(), key=lambda one: one.at, reverse=True))

    def close(self) -> None:
        self._database.close()

    def _rows(self, table: str) -> list[dict[str, Any]]:
        rows = self._database.execute(f"SELECT facts FROM {table} ORDER BY rowid")  # noqa: S608
        return [json.loads(facts) for (facts,) in rows]

    def _write(self, table: str, name: str, facts: dict[str, Any]) -> None:
        self._database.execute(
            f"INSERT INTO {table} VALUES (?, ?)"  # noqa: S608 - the names above
            " ON CONFLICT (id) DO UPDATE SET facts = excluded.facts",
            (name, json.dumps(facts)),
        )
