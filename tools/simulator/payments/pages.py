"""The payment page that a person presses, the list of payments, and a JSON API for tests."""

from dataclasses import asdict
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path

from aiohttp import web

from tools.simulator.pages.shared import language_of, options, page, read_texts
from tools.simulator.payments.till import (
    ACTIONS,
    CALL_FAULTS,
    HOWS,
    CallFault,
    ImpossibleError,
    Operation,
    Payment,
    Till,
)
from tools.simulator.request_bodies import form, json_body

TEXTS = read_texts(Path(__file__).with_name("texts.csv"))
SHOWN = 50
LEAVES = {"pay", "cancel"}  # after which the payer goes back to the shop
MAX_PURPOSE = 210
OPERATION = {"amount", "purpose", "inn", "name", "number", "currency", "is_incoming"}


class PaymentPages:
    """Payments and what happens to them, transfers, faults of calls: as JSON, and as pages of plain
    forms and links that need no script.
    """

    def __init__(self, till: Till) -> None:
        self._till = till

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/payments.json", self.payments),
            web.post("/payments/{id}/actions", self.act),
            web.post("/transfers", self.transfer),
            web.post("/payment-faults", self.add_fault),
            web.get("/payments", self.list),
            web.post("/payments/transfer", self.transfer_by_form),
            web.get("/pay/{id}", self.show),
            web.post("/pay/{id}", self.press),
        ]

    async def payments(self, _request: web.Request) -> web.Response:
        return web.json_response([asdict(row) for row in self._till.book.newest()])

    async def act(self, request: web.Request) -> web.Response:
        payment = self._till.book.payments.get(request.match_info["id"])
        body = await json_body(request)
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
        return web.json_response(asdict(payment))

    async def transfer(self, request: web.Request) -> web.Response:
        body = await json_body(request)
        try:
            operation = Operation(**{name: body[name] for name in OPERATION & body.keys()})
            if Decimal(operation.amount) <= 0:
                return _error("amount: more than 0")
        except (TypeError, InvalidOperation) as error:
            return _error(str(error))
        self._till.transfer(operation)
        return web.json_response({"id": operation.id, "number": operation.number}, status=201)

    async def add_fault(self, request: web.Request) -> web.Response:
        body = await json_body(request)
        provider, kind = str(body.get("provider")), str(body.get("kind"))
        if provider not in self._till.providers or kind not in CALL_FAULTS:
            names = f"provider: {', '.join(self._till.providers)}"
            return _error(f"{names}; kind: {', '.join(CALL_FAULTS)}")
        limits = {name: int(body[name]) for name in ("times", "latency_ms") if name in body}
        self._till.providers[provider].faults.append(CallFault(provider, kind, **limits))
        return web.json_response(body, status=201)

    async def list(self, request: web.Request) -> web.Response:
        return self._list(request)

    def _list(self, request: web.Request, notice: str = "") -> web.Response:
        texts = TEXTS[language_of(request)]
        payments = islice(self._till.book.newest(), SHOWN)
        return page(
            request,
            "payments.html",
            texts,
            here="/payments",
            title=texts["payments"],
            notice=texts.get(notice, ""),
            payments=[(payment, texts[f"state_{payment.state}"]) for payment in payments],
        )

    async def transfer_by_form(self, request: web.Request) -> web.Response:
        fields = await form(request)
        try:
            amount = Decimal(fields.get("amount", "").replace(" ", "").replace(",", "."))
        except InvalidOperation:
            amount = Decimal(0)
        if amount <= 0:
            return self._list(request, "bad_amount")
        purpose = fields.get("purpose", "")[:MAX_PURPOSE]
        inn, name = fields.get("inn", "")[:12], fields.get("name", "")[:160]
        self._till.transfer(Operation(f"{amount:.2f}", purpose, inn=inn, name=name))
        return self._list(request, "transferred")

    async def show(self, request: web.Request) -> web.Response:
        payment = self._till.book.payments.get(request.match_info["id"])
        return self._payment(request, payment) if payment else _missing(request)

    async def press(self, request: web.Request) -> web.Response:
        payment, fields = (
            self._till.book.payments.get(request.match_info["id"]),
            await form(request),
        )
        action, how = fields.get("action", ""), fields.get("how", "")
        if payment is None or action not in ACTIONS or how not in {"", *HOWS}:
            return _missing(request)
        try:
            amount = fields.get("amount", "").replace(",", ".")
            await self._till.act(payment, action, how=how, amount=amount)
        except (ImpossibleError, InvalidOperation):
            return self._payment(request, payment, "impossible")
        return self._payment(request, payment, "done", leaves=action in LEAVES)

    def _payment(
        self, request: web.Request, payment: Payment, notice: str = "", *, leaves: bool = False
    ) -> web.Response:
        texts, url = TEXTS[language_of(request)], payment.return_url
        # Only what a browser opens, and nothing in it that could begin another header.
        is_http = url.startswith(("http://", "https://")) and url.isprintable()
        response = page(
            request,
            "payment.html",
            texts,
            here=f"/pay/{payment.id}",
            title=texts["payment"],
            notice=texts.get(notice, ""),
            payment=payment,
            left=f"{payment.left:.2f}",
            state=texts[f"state_{payment.state}"],
            hows=options(texts, "how", HOWS),
            has_disputes=self._till.providers[payment.provider].has_disputes,
            back=url if is_http else "",
        )
        # A policy of forms holds for where they are sent on as well: the browser leaves by itself.
        if leaves and is_http:
            response.headers["Refresh"] = f"1; url={url}"
        return response


def _missing(request: web.Request) -> web.Response:
    return web.Response(status=404, text=TEXTS[language_of(request)]["no_payment"])


def _error(text: str, status: int = 422) -> web.Response:
    return web.json_response({"error": text}, status=status)
