"""The interface of a simulated payment provider: its calls, and how it words notices."""

import asyncio
import socket
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar

from aiohttp import web

from tools.simulator.carrier import ABORT_ON_CLOSE
from tools.simulator.payments.book import Payment, PaymentBook
from tools.simulator.settings import PaymentSettings
from tools.simulator.vendor import Post

CALL_FAULTS = ("server_error", "lost_answer", "slow")
Call = Callable[[web.Request], Awaitable[web.Response]]


@dataclass(slots=True)
class CallFault:
    provider: str
    kind: str
    times: int = 1
    latency_ms: int = 3000


class PaymentProvider(ABC):
    name: ClassVar[str]
    has_disputes: ClassVar[bool] = False

    def __init__(
        self, settings: PaymentSettings, book: PaymentBook, *, own_url: str, service_url: str
    ) -> None:
        self.settings = settings
        self.book = book
        self.own_url = own_url
        self.hook = f"{service_url}/hooks/{self.name}"
        self.faults: list[CallFault] = []

    @abstractmethod
    def routes(self) -> list[web.RouteDef]: ...

    @abstractmethod
    def notice(self, payment: Payment) -> Post:
        """Says in what state the payment is."""

    @abstractmethod
    def forged(self, payment: Payment) -> Post:
        """The same by somebody who is not the provider."""

    def refund_notice(self, payment: Payment, refund_id: str) -> Post | None:
        """Says that this refund was made; None where nobody is told."""
        return None

    def dispute_notice(self, payment: Payment, *, is_won: bool) -> Post | None:
        return None

    def paid(self, payment: Payment) -> None:  # noqa: B027 - at most nothing
        """What else happens at the provider when a payment is paid."""

    def refunded(self, payment: Payment, amount: str) -> None:  # noqa: B027
        """What else happens at the provider when money goes back."""

    def page(self, payment: Payment) -> str:
        return f"{self.own_url}/pay/{payment.id}"

    def guarded(self, call: Call) -> Call:
        """The call with the faults that were asked for; a lost answer has its effect."""

        async def answer(request: web.Request) -> web.Response:
            fault = self._fault()
            if fault is None:
                return await call(request)
            if fault.kind == "server_error":
                return web.json_response({"error": "simulated"}, status=500)
            made = await call(request)
            await asyncio.sleep(fault.latency_ms / 1000)
            if fault.kind == "lost_answer" and request.transport is not None:
                _abort(request)
            return made

        return answer

    def _fault(self) -> CallFault | None:
        if not self.faults:
            return None
        fault = self.faults[0]
        fault.times -= 1
        if fault.times <= 0:
            self.faults.pop(0)
        return fault


def _abort(request: web.Request) -> None:
    """The peer gets a reset, after its request was carried out."""
    assert request.transport is not None  # noqa: S101 - its caller has looked
    if own := request.transport.get_extra_info("socket"):
        own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT_ON_CLOSE)
    request.transport.abort()
