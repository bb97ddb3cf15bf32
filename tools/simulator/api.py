"""The application: the vendors, the control API and the pages."""

import json
import socket
from functools import partial
from typing import cast

from aiohttp import web

from tools.simulator import bots
from tools.simulator.carrier import Carrier
from tools.simulator.faults import read_fault, read_outcomes
from tools.simulator.logs import MessageLog
from tools.simulator.messages import Message, digits, is_phone
from tools.simulator.pages.control_page import ControlPage
from tools.simulator.pages.phones_page import PhonesPage
from tools.simulator.pages.shared import HERE, LocalOnly
from tools.simulator.payments.pages import PaymentPages
from tools.simulator.payments.till import PaymentBook, PaymentProvider, Till
from tools.simulator.request_bodies import json_body
from tools.simulator.settings import Settings
from tools.simulator.smpp.server import Smpp
from tools.simulator.vendor import Handler, HttpVendor, json_response
from tools.simulator.whatsapp.cloud_api import account_event
from tools.simulator.whatsapp.templates import TITLES

MAX_REPLY = 70
_MISSING = (  # what an account's setup may be without
    "registration",  # of the number
    *("verification", "quality", "display_name"),
    "subscription",  # of the app to the account
    "template",  # one of them is not approved in one language
    "template_rejected",
    "template_paused",  # people complained of it
    "campaign",  # of the messaging service: US carriers' review failed
    "webhook",  # no address to call is set
    *("webhook_fields", "money", "sender", "country"),
    "trial",  # the account was never upgraded
)


class Api:
    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/phones", self.phones),
            web.get("/phones/{phone}/messages", self.messages),
            web.post("/phones/{phone}/contact", self.contact),
            web.post("/messages/{id}/read", self.read),
            web.post("/messages/{id}/reply", self.reply),
            web.post("/alerts", self.alert),
            web.get("/missing", self.missing),
            web.put("/missing", self.set_missing),
            web.get("/faults", self.faults),
            web.post("/faults", self.add_fault),
            web.delete("/faults", self.clear_faults),
            web.delete("/faults/{id}", self.remove_fault),
            web.post("/outcomes", self.add_outcomes),
            web.delete("/outcomes", self.clear_outcomes),
            web.get("/exchanges", self.exchanges),
            web.get("/livez", self.livez),
        ]

    async def livez(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def phones(self, _request: web.Request) -> web.Response:
        return json_response([phone.shown() for phone in self._carrier.log.phones])

    async def messages(self, request: web.Request) -> web.Response:
        phone = digits(request.match_info["phone"])
        return json_response([message.shown() for message in self._carrier.log.of_phone(phone)])

    async def contact(self, request: web.Request) -> web.Response:
        phone = digits(request.match_info["phone"])
        action = (await json_body(request)).get("action")
        if not is_phone(phone):
            return _errors({"phone": "must have 7 to 15 digits"})
        if action not in bots.ACTIONS:
            return _errors({"action": f"must be one of {', '.join(bots.ACTIONS)}"})
        return json_response(bots.change_contact(self._carrier, phone, action).shown())

    async def read(self, request: web.Request) -> web.Response:
        message = self._asked_of(request)
        if message is None:
            return _errors({"id": "no such message"}, 404)
        if not self._carrier.vendors[message.provider].can_read or message.state == "failed":
            return _errors({"id": "a read receipt exists for WhatsApp and Gateway messages only"})
        if message.state != "read":
            self._carrier.courier.add(message, "read")
        return json_response(message.shown())

    async def reply(self, request: web.Request) -> web.Response:
        """Sends a person's reply to the service: `text`, or STOP by default."""
        message, text = self._asked_of(request), (await json_body(request)).get("text", "STOP")
        if message is None:
            return _errors({"id": "no such message"}, 404)
        vendor = self._carrier.vendors[message.provider]
        if not vendor.can_reply:
            return _errors({"id": "nobody writes back to this vendor's number"})
        if not isinstance(text, str) or not 1 <= len(text) <= MAX_REPLY:
            return _errors({"text": f"must have 1 to {MAX_REPLY} characters"})
        self._carrier.courier.run(
            [partial(vendor.reply, message, text)], vendor.name, message.phone
        )
        return json_response({"text": text}, 201)

    def _asked_of(self, request: web.Request) -> Message | None:
        number = request.match_info["id"]
        is_number = number.isascii() and number.isdigit() and len(number) < 19
        return self._carrier.log.by_id(int(number)) if is_number else None

    async def alert(self, request: web.Request) -> web.Response:
        """Sends a WhatsApp webhook about the account: an error code, or another field."""
        body = await json_body(request)
        make = account_event(self._carrier.settings, body)
        if make is None:
            titles = ", ".join(map(str, TITLES))
            return _errors({"code": f"must be one of {titles}, or field"})
        self._carrier.courier.run([make], "whatsapp")
        return json_response(body, 201)

    async def missing(self, _request: web.Request) -> web.Response:
        return json_response({"missing": sorted(self._carrier.missing)})

    async def set_missing(self, request: web.Request) -> web.Response:
        """Sets the parts that the accounts' setup is without, like that of a fresh account."""
        body = (await json_body(request)).get("missing")
        if not isinstance(body, list) or not set(map(str, body)) <= set(_MISSING):
            return _errors({"missing": f"must be a list of {', '.join(_MISSING)}"})
        self._carrier.missing = set(map(str, body))
        return await self.missing(request)

    async def faults(self, _request: web.Request) -> web.Response:
        return json_response([fault.shown() for fault in self._carrier.faults])

    async def exchanges(self, request: web.Request) -> web.Response:
        wire, asked = self._carrier.wire, request.query
        latest = wire.latest(asked.get("provider", ""), digits(asked.get("phone", "")))
        return json_response([wire.shown(exchange) for exchange in latest])

    async def add_fault(self, request: web.Request) -> web.Response:
        try:
            body = json.loads(await request.read())
        except ValueError:
            return _errors({"body": "must be a JSON object"})
        fields, errors = read_fault(body, self._carrier.vendors)
        if errors:
            return _errors(errors)
        fault = self._carrier.faults.add(fields)
        return json_response(fault.shown(), 201)

    async def add_outcomes(self, request: web.Request) -> web.Response:
        """Sets the outcomes of messages to these numbers from now on, channel by channel."""
        outcomes, errors = read_outcomes(await json_body(request))
        if errors:
            return _errors(errors)
        self._carrier.outcomes.add(outcomes)
        return json_response({"added": len(outcomes)}, 201)

    async def clear_outcomes(self, _request: web.Request) -> web.Response:
        return json_response({"cleared": self._carrier.outcomes.clear()})

    async def clear_faults(self, _request: web.Request) -> web.Response:
        return json_response({"cleared": self._carrier.faults.clear()})

    async def remove_fault(self, request: web.Request) -> web.Response:
        if not self._carrier.faults.remove(request.match_info["id"]):
            return _errors({"id": "no such fault"}, 404)
        return json_response({"cleared": 1})


def _errors(errors: dict[str, str], status: int = 400) -> web.Response:
    return json_response({"errors": errors}, status)


def build_app(
    settings: Settings, log: MessageLog, smpp_listener: socket.socket | None = None
) -> web.Application:
    carrier = Carrier(settings, log)
    centre = Smpp(carrier)
    vendors = [kind(carrier) for kind in HttpVendor.kinds()]
    carrier.vendors.update({vendor.name: vendor for vendor in (*vendors, centre)})
    # The payment providers share nothing with the carriers but the log of the wire and its calls.
    book = PaymentBook(settings.log_path.with_suffix(".payments.sqlite3"))
    providers = {kind.name: kind(settings, book) for kind in PaymentProvider.kinds()}
    carrier.wire.providers = [*carrier.vendors, *providers]
    till, guard = Till(book, providers, carrier.courier), LocalOnly(settings)
    app = web.Application()
    for played in (*vendors, *providers.values()):
        for route in played.routes():
            handler = played.refusing(cast(Handler, route.handler))
            _add(app, route, carrier.wire.recorded(played.name, handler))
    for ours in (Api(carrier), PhonesPage(carrier), ControlPage(carrier), PaymentPages(till)):
        for route in ours.routes():
            _add(app, route, guard(cast(Handler, route.handler)))
    app.add_routes([web.static("/static", HERE / "static")])
    app.cleanup_ctx.append(carrier.courier.running)
    app.on_cleanup.append(book.close)
    if smpp_listener is not None:
        app.cleanup_ctx.append(partial(centre.running, smpp_listener))
    return app


def _add(app: web.Application, route: web.RouteDef, handler: Handler) -> None:
    app.add_routes([web.RouteDef(route.method, route.path, handler, route.kwargs)])
