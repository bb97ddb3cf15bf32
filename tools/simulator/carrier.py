"""Handles a well-formed send: applies faults, logs the message, schedules receipts and visits.

Bots visit a message's links only if a fault says so: messengers preview none of the messages that
the service sends, and phones preview an SMS of an unknown sender at a tap. Only the service's own
links are opened, on loopback, and none is followed to its target.
"""

import asyncio
from collections.abc import Iterator
from functools import partial
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from yarl import URL

from tools.simulator.channels import CHANNELS
from tools.simulator.faults import (
    LOST,
    PREVIEW,
    SCAN,
    SERVER_ERROR,
    SILENCES,
    FaultPlan,
    Faults,
    Outcomes,
)
from tools.simulator.logs import MessageLog, WireLog
from tools.simulator.messages import Message
from tools.simulator.settings import Settings
from tools.simulator.vendor import LOOPBACK, Deliver, HttpVendor, ReceiptSender, Vendor, abort

TIMEOUT = aiohttp.ClientTimeout(total=10)
# A scanner with a browser's headers; only its speed gives it away.
SCANNER = {
    "User-Agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36"
    " (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language": "en-US,en;q=0.9",
    "Sec-Fetch-Site": "none",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
}


class Carrier:
    def __init__(self, settings: Settings, log: MessageLog) -> None:
        self.settings = settings
        self.log = log
        self.faults, self.outcomes = Faults(), Outcomes()
        self.missing: set[str] = set()
        self.vendors: dict[str, Vendor] = {}
        self.wire = WireLog(settings)
        self.courier = ReceiptSender(log, self.vendors, self.wire)
        self._own = {urlsplit(url)[:2] for url in (settings.short_url, settings.public_url)}

    async def carry(
        self, request: web.Request, vendor: HttpVendor, message: Message
    ) -> web.StreamResponse:
        """Answers a send: refused by a fault, or logged first and answered (or not) then."""
        plan = self.plan(vendor, message.phone)
        request["exchange"].phone = message.phone
        if not plan.is_taken:
            await asyncio.sleep(plan.latency)
            if plan.answer is None or plan.answer == LOST:
                return _hang_up(request, reset=True)
            raise vendor.refusal(plan.answer, message)
        self.keep(vendor, message, plan)
        delay = self.delay(plan)
        if plan.answer in SILENCES:
            self.courier.start(message, delay)
            await asyncio.sleep(plan.latency + plan.hold)
            return _hang_up(request, reset=plan.answer == "reset")
        if plan.latency:
            await asyncio.sleep(plan.latency)
        self.courier.start(message, delay)
        if plan.answer == SERVER_ERROR:  # a proxy before the vendor answers in its place
            text = "<html>502 Bad Gateway</html>"
            return web.Response(status=502, text=text, content_type="text/html")
        return vendor.accepted(message)

    def plan(self, vendor: Vendor, phone: str) -> FaultPlan:
        scripted = self.outcomes.plan(phone, vendor.channel)
        return scripted or self.faults.take((vendor.channel, vendor.name, phone))

    def keep(self, vendor: Vendor, message: Message, plan: FaultPlan) -> None:
        message.pending = vendor.events(plan)
        if kinds := plan.kinds():
            message.extra["faults"] = kinds
        if plan.late:
            message.extra["due"] = message.at + plan.late
        if plan.arrival is not None:
            message.extra["arrives"] = message.at + plan.arrival
        self.log.add(message)
        visits = [partial(lambda post: post, visit) for visit in self._visits(message)]
        self.courier.run(visits, vendor.name)

    def delay(self, plan: FaultPlan) -> float:
        """Seconds until the first receipt."""
        return self.settings.receipt_delay + plan.late

    def _visits(self, message: Message) -> Iterator[Deliver]:
        previewer = {"User-Agent": CHANNELS[message.channel].previewer}
        for kind, headers in ((PREVIEW, previewer), (SCAN, SCANNER)):
            if headers["User-Agent"] and message.suffers(kind):
                for link in message.links:
                    parts = urlsplit(link)
                    if parts[:2] in self._own and parts.hostname in LOOPBACK:
                        yield partial(self._open, message, link, headers)

    async def _open(self, message: Message, link: str, headers: dict[str, str]) -> bool:
        exchange = self.wire.visit(message.provider, message.phone, link, headers)
        try:
            async with (
                aiohttp.ClientSession(timeout=TIMEOUT) as session,
                session.get(URL(link, encoded=True), headers=headers, allow_redirects=False) as got,
            ):
                self.wire.end(exchange, str(got.status), await got.read())
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            self.wire.end(exchange, type(error).__name__)
        return True  # nobody tries again


def _hang_up(request: web.Request, *, reset: bool) -> web.Response:
    request["exchange"].outcome = "reset" if reset else "closed"
    abort(request.transport, reset=reset)
    return web.Response()  # has nowhere to go any more
