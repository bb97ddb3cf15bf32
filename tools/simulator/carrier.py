"""Handles a well-formed send: applies faults, logs the message, schedules receipts."""

import asyncio
import socket
import struct
from collections.abc import Callable

from aiohttp import web

from tools.simulator.faults import LOST, SERVER_ERROR, SILENCES, FaultPlan, Faults
from tools.simulator.messages.link_previews import LinkPreviews
from tools.simulator.messages.message import Message
from tools.simulator.messages.message_log import MessageLog
from tools.simulator.outcomes import Outcomes
from tools.simulator.pages.server_sent_events import Events
from tools.simulator.receipt_sender import ReceiptSender
from tools.simulator.settings import Settings
from tools.simulator.vendor import HttpVendor, Tell, Vendor
from tools.simulator.wire_log import WireLog

ABORT_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER on, 0 s: the peer gets a RST


class Carrier:
    def __init__(self, settings: Settings, log: MessageLog) -> None:
        self.settings = settings
        self.log = log
        self.faults = Faults()
        self.outcomes = Outcomes()
        self.lacks: set[str] = set()
        self.events = Events()
        self.vendors: dict[str, Vendor] = {}
        self.wire = WireLog(settings, self.events)
        self.courier = ReceiptSender(log, self.events, self.vendors, self.wire)
        self._visits = LinkPreviews(settings, self.wire)

    async def carry(
        self, request: web.Request, vendor: HttpVendor, message: Message
    ) -> web.StreamResponse:
        """Answer a send: refused by a fault, or logged first and answered (or not) then."""
        plan = self.plan(vendor, message.phone)
        request["exchange"].phone = message.phone
        if not plan.is_taken:
            await asyncio.sleep(plan.latency)
            return _untaken(request, vendor, message, plan)
        self.keep(vendor, message, plan)
        delay = self.delay(plan)
        if plan.answer in SILENCES:
            self.courier.start(message, delay)
            await asyncio.sleep(plan.latency + plan.hold)
            return _hang_up(request, abort=plan.answer == "reset")
        if plan.latency:
            await asyncio.sleep(plan.latency)
        self.courier.start(message, delay)
        return _broken() if plan.answer == SERVER_ERROR else vendor.accepted(message)

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
        self.events.changed([message.phone])
        visits = [_made(visit) for visit in self._visits.of(message)]
        self.courier.run(visits, vendor.name, message.phone)

    def delay(self, plan: FaultPlan) -> float:
        """Seconds until the first receipt."""
        return self.settings.receipt_delay + plan.late


def _made(visit: Tell) -> Callable[[], Tell]:
    return lambda: visit


def _untaken(
    request: web.Request, vendor: HttpVendor, message: Message, plan: FaultPlan
) -> web.StreamResponse:
    if plan.answer is None or plan.answer == LOST:
        return _hang_up(request, abort=True)
    return vendor.refused(plan.answer, message)


def _broken() -> web.Response:
    """What stands before the vendor answers in its place."""
    return web.Response(status=502, text="<html>502 Bad Gateway</html>", content_type="text/html")


def _hang_up(request: web.Request, *, abort: bool) -> web.Response:
    transport = request.transport
    request["exchange"].outcome = "reset" if abort else "closed"
    if transport is not None:
        if abort:
            peer: socket.socket = transport.get_extra_info("socket")
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT_ON_CLOSE)
        transport.abort()
    return web.Response()  # has nowhere to go any more
