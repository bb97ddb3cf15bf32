"""YooKassa's payments, as https://yookassa.ru/developers/api words them."""

import json
from base64 import b64encode
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import uuid4

from aiohttp import web

from tools.simulator.payments.book import CANCELED, PAID, Payment
from tools.simulator.payments.provider import PaymentProvider
from tools.simulator.request_bodies import MalformedError, json_object, mapping
from tools.simulator.vendor import Post

STATUSES = {PAID: "succeeded", CANCELED: "canceled"}


class YooKassa(PaymentProvider):
    name = "yookassa"

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/yookassa/v3/payments", self.guarded(self.create)),
            web.get("/yookassa/v3/payments/{id}", self.guarded(self.retrieve)),
            web.get("/yookassa/v3/refunds/{id}", self.guarded(self.refund)),
            web.get("/yookassa/v3/me", self.guarded(self.me)),
        ]

    async def create(self, request: web.Request) -> web.Response:
        if not self._is_ours(request):
            return _error(401, "invalid_credentials", "Error in shopId or secret key")
        key = request.headers.get("Idempotence-Key", "")
        try:
            given = json_object(await request.read())
            amount = mapping(given.get("amount"))
            Decimal(str(amount["value"]))
            currency = str(amount["currency"])
        except (MalformedError, KeyError, InvalidOperation):
            return _error(400, "invalid_request", "Missing amount")
        if not key:
            return _error(400, "invalid_request", "Idempotence key is missing")
        payment = self.book.made_by(self.name, key) or Payment(
            id=str(uuid4()),
            provider=self.name,
            order=str(mapping(given.get("metadata")).get("order", "")),
            amount=str(amount["value"]),
            currency=currency,
            title=str(given.get("description", "")),
            return_url=str(mapping(given.get("confirmation")).get("return_url", "")),
            key=key,
        )
        self.book.save(payment)
        return web.json_response(self.payment(payment))

    async def retrieve(self, request: web.Request) -> web.Response:
        if not self._is_ours(request):
            return _error(401, "invalid_credentials", "Error in shopId or secret key")
        payment = self.book.of(self.name, request.match_info["id"])
        if payment is None:
            return _error(404, "not_found", "Payment doesn't exist")
        return web.json_response(self.payment(payment))

    async def refund(self, request: web.Request) -> web.Response:
        if not self._is_ours(request):
            return _error(401, "invalid_credentials", "Error in shopId or secret key")
        wanted = request.match_info["id"]
        own = (one for one in self.book.payments.values() if one.provider == self.name)
        payment = next((one for one in own if wanted in one.refunds), None)
        if payment is None:
            return _error(404, "not_found", "Refund doesn't exist")
        return web.json_response(_refund(payment, wanted))

    async def me(self, request: web.Request) -> web.Response:
        if not self._is_ours(request):
            return _error(401, "invalid_credentials", "Error in shopId or secret key")
        shop = {"account_id": self.settings.yookassa_shop_id, "status": "enabled", "test": True}
        return web.json_response(shop)

    def payment(self, payment: Payment) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "id": payment.id,
            "status": STATUSES.get(payment.state, "pending"),
            "paid": payment.state == PAID,
            "amount": {"value": payment.amount, "currency": payment.currency},
            "created_at": datetime.fromtimestamp(payment.at, UTC).isoformat(),
            "description": payment.title,
            "metadata": {"order": payment.order} if payment.order else {},
            "recipient": {"account_id": self.settings.yookassa_shop_id, "gateway_id": "1"},
            "refundable": payment.state == PAID and payment.left > 0,
            "test": True,
        }
        if payment.state == "open":
            page = {"type": "redirect", "confirmation_url": self.page(payment)}
            shown["confirmation"] = page
        return shown

    def notice(self, payment: Payment) -> Post:
        kind = "canceled" if payment.state == CANCELED else "succeeded"
        return self._post(f"payment.{kind}", self.payment(payment))

    def forged(self, payment: Payment) -> Post:
        """Of a payment that does not exist, and says that it is paid."""
        claimed = self.payment(payment) | {"id": str(uuid4()), "status": "succeeded", "paid": True}
        return self._post("payment.succeeded", claimed)

    def refund_notice(self, payment: Payment, refund_id: str) -> Post:
        return self._post("refund.succeeded", _refund(payment, refund_id))

    def _post(self, event: str, what: dict[str, Any]) -> Post:
        body = {"type": "notification", "event": event, "object": what}
        headers = {"Content-Type": "application/json"}
        return Post(self.hook, json.dumps(body).encode(), headers)

    def _is_ours(self, request: web.Request) -> bool:
        pair = f"{self.settings.yookassa_shop_id}:{self.settings.yookassa_secret_key}"
        basic = f"Basic {b64encode(pair.encode()).decode()}"
        return request.headers.get("Authorization") == basic


def _refund(payment: Payment, refund_id: str) -> dict[str, Any]:
    return {
        "id": refund_id,
        "status": "succeeded",
        "amount": {"value": payment.refunds[refund_id], "currency": payment.currency},
        "payment_id": payment.id,
    }


def _error(status: int, code: str, words: str) -> web.Response:
    body = {"type": "error", "id": str(uuid4()), "code": code, "description": words}
    return web.json_response(body, status=status)
