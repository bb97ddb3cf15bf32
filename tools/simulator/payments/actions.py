"""What a payer, a shop or a bank does to a payment, and how badly the provider tells of it."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from uuid import uuid4

from tools.simulator.payments.book import CANCELED, OPEN, PAID, Operation, Payment, PaymentBook
from tools.simulator.payments.notices import NoticeSender
from tools.simulator.payments.provider import PaymentProvider
from tools.simulator.payments.tbank import TBank
from tools.simulator.vendor import Post

ACTIONS = ("pay", "cancel", "refund", "dispute", "dispute_won", "notify")
HOWS = (
    "before_redirect",
    "after_redirect",
    "twice",
    "never",
    "late",
    "reordered",
    "wrong_amount",
    "wrong_currency",
    "forged",
    "pay_twice",
)
AFTER_REDIRECT = 2.0
LONGEST_WAIT = 3.0  # for a notice, before the payer is sent back


class ImpossibleError(Exception):
    """The payment is not in a state for that."""


class Till:
    def __init__(
        self, book: PaymentBook, providers: Mapping[str, PaymentProvider], sender: NoticeSender
    ) -> None:
        self.book = book
        self.providers = providers
        self._sender = sender

    async def act(
        self, payment: Payment, action: str, *, how: str = "", amount: str = "", delay: float = 0.0
    ) -> None:
        """Raises ImpossibleError. Commits what happened, then has the service told."""
        provider = self.providers[payment.provider]
        match action:
            case "pay":
                await self._pay(provider, payment, how or HOWS[0], delay)
            case "cancel":
                _must_be(payment, OPEN)
                payment.state = CANCELED
                self.book.save(payment)
                self._tell(provider, [provider.notice(payment)], delay)
            case "notify":
                self._tell(provider, [provider.notice(payment)], delay)
            case "refund":
                self._tell(provider, self._refund(provider, payment, amount), delay)
            case "dispute" | "dispute_won":
                self._dispute(provider, payment, is_won=action == "dispute_won")

    def transfer(self, operation: Operation) -> None:
        """Money comes to the bank account, or leaves it."""
        bank = self.providers[TBank.name]
        assert isinstance(bank, TBank)  # noqa: S101 - by its name
        self.book.book(operation)
        self._tell(bank, [bank.news()], 0.0)

    async def _pay(
        self, provider: PaymentProvider, payment: Payment, how: str, delay: float
    ) -> None:
        if payment.state == PAID:
            raise ImpossibleError("it is paid already")
        if how == "forged":
            self._tell(provider, [provider.forged(payment)], delay)
            return
        if how == "wrong_amount":
            payment.amount = f"{Decimal(payment.amount) - Decimal('0.01'):.2f}"
        if how == "wrong_currency":
            payment.currency = "USD" if payment.currency != "USD" else "EUR"
        self._mark_paid(provider, payment)
        posts = self._notices(provider, payment, how)
        if how == "late":
            self._tell(provider, posts, delay or AFTER_REDIRECT)
        elif how == "after_redirect":
            self._tell(provider, posts, AFTER_REDIRECT)
        elif posts:
            task = self._tell(provider, posts, delay)
            await asyncio.wait([task], timeout=LONGEST_WAIT)

    def _notices(self, provider: PaymentProvider, payment: Payment, how: str) -> list[Post]:
        notice = provider.notice(payment)
        if how == "never":
            return []
        if how == "reordered":
            return [*self._refund(provider, payment, payment.amount), notice]
        if how == "pay_twice":
            twin = replace(payment, id=f"{payment.id[:8]}{uuid4()}", key="", refunds={})
            twin.reference = f"pi_{uuid4().hex[:24]}"
            self._mark_paid(provider, twin)
            return [notice, provider.notice(twin)]
        return [notice] * (2 if how == "twice" else 1)

    def _mark_paid(self, provider: PaymentProvider, payment: Payment) -> None:
        payment.state = PAID
        self.book.save(payment)
        provider.paid(payment)
        if isinstance(provider, TBank):
            self._tell(provider, [provider.news()], 0.0)

    def _refund(self, provider: PaymentProvider, payment: Payment, amount: str) -> list[Post]:
        _must_be(payment, PAID)
        taken = Decimal(amount or payment.left)
        if not 0 < taken <= payment.left:
            raise ImpossibleError("there is less to refund")
        refund_id = f"re_{uuid4().hex}"
        payment.refunds[refund_id] = f"{taken:.2f}"
        self.book.save(payment)
        provider.refunded(payment, f"{taken:.2f}")
        notice = provider.refund_notice(payment, refund_id)
        return [notice] if notice else []

    def _dispute(self, provider: PaymentProvider, payment: Payment, *, is_won: bool) -> None:
        _must_be(payment, PAID)
        if not provider.has_disputes or payment.disputed != is_won:
            raise ImpossibleError("there is no such dispute")
        payment.disputed = not is_won
        self.book.save(payment)
        notice = provider.dispute_notice(payment, is_won=is_won)
        self._tell(provider, [notice] if notice else [], 0.0)

    def _tell(
        self, provider: PaymentProvider, posts: list[Post], delay: float
    ) -> asyncio.Task[None]:
        return self._sender.start(provider.name, posts, delay)


def _must_be(payment: Payment, state: str) -> None:
    if payment.state != state:
        raise ImpossibleError(f"it is {payment.state}")
