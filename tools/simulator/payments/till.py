"""Payments, their providers, and what a payer, a shop or a bank does to a payment."""

import asyncio
import json
import secrets
import sqlite3
import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, cast
from uuid import uuid4

from aiohttp import web

from tools.simulator.settings import Settings
from tools.simulator.vendor import HttpService, Post, ReceiptSender, abort

OPEN = "open"
PAID = "paid"
CANCELED = "canceled"
ACTIONS = ("pay", "cancel", "refund", "dispute", "dispute_won", "notify")
HOWS = (
    *("before_redirect", "after_redirect", "twice", "never", "late", "reordered"),
    *("wrong_amount", "wrong_currency", "forged", "pay_twice"),
)
CALL_FAULTS = ("server_error", "lost_answer", "slow")
AFTER_REDIRECT = 2.0
MAX_WAIT = 3.0  # for a webhook, before the payer is sent back
Call = Callable[[web.Request], Awaitable[web.Response]]


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

    @property
    def left(self) -> Decimal:
        """The rest of the money, after refunds."""
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
    """The payments, in a file, since a provider does not forget when it restarts. Every change is
    committed before it is answered or notified.
    """

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        for table in ("payments", "operations"):
            self._database.execute(
                f"CREATE TABLE IF NOT EXISTS {table} (id TEXT PRIMARY KEY, facts TEXT NOT NULL)"
            )
        self.payments = {row["id"]: Payment(**row) for row in self._rows("payments")}
        self.operations = [Operation(**row) for row in self._rows("operations")]

    def save(self, payment: Payment) -> None:
        self.payments[payment.id] = payment
        self._write("payments", payment)

    def book(self, operation: Operation) -> None:
        self.operations.append(operation)
        self._write("operations", operation)

    def of(self, provider: str, payment_id: str) -> Payment | None:
        payment = self.payments.get(payment_id)
        return payment if payment is not None and payment.provider == provider else None

    def find_by_key(self, provider: str, key: str) -> Payment | None:
        """The payment that an earlier call with this idempotency key has made."""
        rows = (row for row in self.payments.values() if row.provider == provider)
        return next((row for row in rows if key and row.key == key), None)

    def newest(self) -> Iterator[Payment]:
        return iter(sorted(self.payments.values(), key=lambda row: row.at, reverse=True))

    async def close(self, _app: web.Application) -> None:
        self._database.close()

    def _rows(self, table: str) -> list[dict[str, Any]]:
        rows = self._database.execute(f"SELECT facts FROM {table} ORDER BY rowid")  # noqa: S608
        return [json.loads(facts) for (facts,) in rows]

    def _write(self, table: str, row: Payment | Operation) -> None:
        self._database.execute(
            f"INSERT INTO {table} VALUES (?, ?)"  # noqa: S608 - the names above
            " ON CONFLICT (id) DO UPDATE SET facts = excluded.facts",
            (row.id, json.dumps(asdict(row))),
        )


@dataclass(slots=True)
class CallFault:
    provider: str
    kind: str
    times: int = 1
    latency_ms: int = 3000


class PaymentProvider(HttpService):
    """Its API calls and the bodies of its webhooks."""

    has_disputes: ClassVar[bool] = False

    def __init__(self, settings: Settings, book: PaymentBook) -> None:
        self.settings, self.book = settings, book
        self.faults: list[CallFault] = []

    @abstractmethod
    def calls(self) -> list[web.RouteDef]:
        """Its routes, for those who are authorized."""

    @abstractmethod
    def authorize(self, request: web.Request) -> None:
        """Raises RefusedError."""

    def routes(self) -> list[web.RouteDef]:
        return [
            web.RouteDef(row.method, row.path, self._faulty(cast(Call, row.handler)), row.kwargs)
            for row in self.calls()
        ]

    @abstractmethod
    def webhook(self, payment: Payment) -> Post:
        """Says in what state the payment is."""

    @abstractmethod
    def forged(self, payment: Payment) -> Post:
        """A webhook of the payment's state that was not sent by the provider."""

    def refund_webhook(self, payment: Payment, refund_id: str) -> Post | None:
        """The webhook of this refund; None for providers that send none."""
        return None

    def dispute_webhook(self, payment: Payment, *, is_won: bool) -> Post | None:
        return None

    def paid(self, payment: Payment) -> list[Post]:
        """Other effects at the provider of a paid payment, and the webhooks about it."""
        return []

    def refunded(self, payment: Payment, amount: str) -> None:
        """Other effects at the provider of a refund."""

    def page(self, payment: Payment) -> str:
        return f"{self.settings.own_url}/pay/{payment.id}"

    def to_service(self, body: bytes, headers: Mapping[str, str]) -> Post:
        url = f"{self.settings.public_url}/hooks/{self.name}"
        typed = {"Content-Type": "application/json", **headers}
        return Post(url, body, typed, any_2xx=True, or_403=True)

    def _faulty(self, call: Call) -> Call:
        """The call with the faults that were asked for; a lost answer has its effect."""

        async def respond(request: web.Request) -> web.Response:
            if not self.faults:
                self.authorize(request)
                return await call(request)
            fault = self.faults[0]
            fault.times -= 1
            if fault.times <= 0:
                self.faults.pop(0)
            if fault.kind == "server_error":
                return web.json_response({"error": "simulated"}, status=500)
            self.authorize(request)
            response = await call(request)
            await asyncio.sleep(fault.latency_ms / 1000)
            if fault.kind == "lost_answer":
                abort(request.transport)
            return response

        return respond


class ImpossibleError(Exception):
    """The payment is not in a state for that."""


class Till:
    """Changes of a payment by payer, shop or bank, and how badly the provider notifies of it."""

    def __init__(
        self, book: PaymentBook, providers: Mapping[str, PaymentProvider], sender: ReceiptSender
    ) -> None:
        self.book, self.providers, self._sender = book, providers, sender

    async def act(
        self, payment: Payment, action: str, *, how: str = "", amount: str = "", delay: float = 0.0
    ) -> None:
        """Commits an action on the payment, then notifies the service; raises ImpossibleError."""
        provider = self.providers[payment.provider]
        match action:
            case "pay":
                await self._pay(provider, payment, how or HOWS[0], delay)
            case "cancel":
                _must_be(payment, OPEN)
                payment.state = CANCELED
                self.book.save(payment)
                self._send_webhooks(provider, [provider.webhook(payment)], delay)
            case "notify":
                self._send_webhooks(provider, [provider.webhook(payment)], delay)
            case "refund":
                self._send_webhooks(provider, self._refund(provider, payment, amount), delay)
            case "dispute" | "dispute_won":
                self._dispute(provider, payment, is_won=action == "dispute_won")

    def transfer(self, operation: Operation) -> None:
        """Money comes to the bank account, or leaves it."""
        self.book.book(operation)
        for bank in self.providers.values():
            if isinstance(bank, Bank):
                self._send_webhooks(bank, [bank.new_operation()])

    async def _pay(
        self, provider: PaymentProvider, payment: Payment, how: str, delay: float
    ) -> None:
        if payment.state == PAID:
            raise ImpossibleError("it is paid already")
        if how == "forged":
            self._send_webhooks(provider, [provider.forged(payment)], delay)
            return
        if how == "wrong_amount":
            payment.amount = f"{Decimal(payment.amount) - Decimal('0.01'):.2f}"
        if how == "wrong_currency":
            payment.currency = "USD" if payment.currency != "USD" else "EUR"
        self._mark_paid(provider, payment)
        posts = self._webhooks(provider, payment, how)
        if how in {"late", "after_redirect"}:
            later = delay if how == "late" else 0.0
            self._send_webhooks(provider, posts, later or AFTER_REDIRECT)
        elif posts:
            await asyncio.wait([self._send_webhooks(provider, posts, delay)], timeout=MAX_WAIT)

    def _webhooks(self, provider: PaymentProvider, payment: Payment, how: str) -> list[Post]:
        webhook = provider.webhook(payment)
        if how == "never":
            return []
        if how == "reordered":
            return [*self._refund(provider, payment, payment.amount), webhook]
        if how == "pay_twice":
            twin = replace(payment, id=f"{payment.id[:8]}{uuid4()}", key="", refunds={})
            twin.reference = f"pi_{uuid4().hex[:24]}"
            self._mark_paid(provider, twin)
            return [webhook, provider.webhook(twin)]
        return [webhook] * (2 if how == "twice" else 1)

    def _mark_paid(self, provider: PaymentProvider, payment: Payment) -> None:
        payment.state = PAID
        self.book.save(payment)
        self._send_webhooks(provider, provider.paid(payment))

    def _refund(self, provider: PaymentProvider, payment: Payment, amount: str) -> list[Post]:
        _must_be(payment, PAID)
        refunded = Decimal(amount or payment.left)
        if not 0 < refunded <= payment.left:
            raise ImpossibleError("there is less to refund")
        refund_id = f"re_{uuid4().hex}"
        payment.refunds[refund_id] = f"{refunded:.2f}"
        self.book.save(payment)
        provider.refunded(payment, f"{refunded:.2f}")
        webhook = provider.refund_webhook(payment, refund_id)
        return [webhook] if webhook else []

    def _dispute(self, provider: PaymentProvider, payment: Payment, *, is_won: bool) -> None:
        _must_be(payment, PAID)
        if not provider.has_disputes or payment.disputed != is_won:
            raise ImpossibleError("there is no such dispute")
        payment.disputed = not is_won
        self.book.save(payment)
        webhook = provider.dispute_webhook(payment, is_won=is_won)
        self._send_webhooks(provider, [webhook] if webhook else [])

    def _send_webhooks(
        self, provider: PaymentProvider, posts: list[Post], delay: float = 0.0
    ) -> asyncio.Task[None]:
        calls = [lambda post=post: post for post in posts]
        return self._sender.run(calls, provider.name, delay=delay)


class Bank(PaymentProvider):
    """One with an account whose statement can be read."""

    @abstractmethod
    def new_operation(self) -> Post:
        """The statement has a new operation."""


def _must_be(payment: Payment, state: str) -> None:
    if payment.state != state:
        raise ImpossibleError(f"it is {payment.state}")
