"""The JSON API for tests: payments and what happens to them, transfers, faults of calls."""

from decimal import Decimal, InvalidOperation
from typing import Any

from aiohttp import web

from tools.simulator.pages.local_only import LocalOnly
from tools.simulator.payments.actions import ACTIONS, HOWS, ImpossibleError, Till
from tools.simulator.payments.book import Operation
from tools.simulator.payments.provider import CALL_FAULTS, CallFault
from tools.simulator.request_bodies import MalformedError, json_object

OPERATION = {"amount", "purpose", "inn", "name", "number", "currency", "is_incoming"}


class PaymentApi:
    def __init__(self, till: Till) -> None:
        self._till = till

    def routes(self, guard: LocalOnly) -> list[web.RouteDef]:
        return [
            web.get("/payments.json", guard(self.payments)),
            web.post("/payments/{id}/actions", guard(self.act)),
            web.post("/transfers", guard(self.transfer)),
            web.post("/payment-faults", guard(self.add_fault)),
            web.delete("/payment-faults", guard(self.clear_faults)),
        ]

    async def payments(self, _request: web.Request) -> web.Response:
        return web.json_response([one.shown() for one in self._till.book.newest()])

    async def act(self, request: web.Request) -> web.Response:
        payment = self._till.book.payments.get(request.match_info["id"])
        body = await _body(request)
        action, how = body.get("action"), body.get("how", "")
        if payment is None:
            return _error("no such payment", 404)
        if action not in ACTIONS or how not in {"", *HOWS}:
            return _error(f"action: {', '.join(ACTIONS)}; how: {', '.join(HOWS)}")
        try:
            amount, delay = str(body.get("amount", "")), float(body.get("delay", 0))
            await self._till.act(payment, action, how=how, amount=amount, delay=delay)
        except (ImpossibleError, ValueError, TypeError, InvalidOperation) as error:
            return _error(str(error))
        return web.json_response(payment.shown())

    async def transfer(self, request: web.Request) -> web.Response:
        body = await _body(request)
        try:
            given = {name: body[name] for name in OPERATION & body.keys()}
            operation = Operation(**given)
            if Decimal(operation.amount) <= 0:
                return _error("amount: more than 0")
        except (TypeError, InvalidOperation) as error:
            return _error(str(error))
        self._till.transfer(operation)
        return web.json_response({"id": operation.id, "number": operation.number}, status=201)

    async def add_fault(self, request: web.Request) -> web.Response:
        body = await _body(request)
        provider, kind = str(body.get("provider")), str(body.get("kind"))
        if provider not in self._till.providers or kind not in CALL_FAULTS:
            names = f"provider: {', '.join(self._till.providers)}"
            return _error(f"{names}; kind: {', '.join(CALL_FAULTS)}")
        more = {name: int(body[name]) for name in ("times", "latency_ms") if name in body}
        self._till.providers[provider].faults.append(CallFault(provider, kind, **more))
        return web.json_response(body, status=201)

    async def clear_faults(self, _request: web.Request) -> web.Response:
        for provider in self._till.providers.values():
            provider.faults.clear()
        return web.json_response({})


async def _body(request: web.Request) -> dict[str, Any]:
    try:
        return json_object(await request.read())
    except MalformedError:
        return {}


def _error(text: str, status: int = 422) -> web.Response:
    return web.json_response({"error": text}, status=status)
