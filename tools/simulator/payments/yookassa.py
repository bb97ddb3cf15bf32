"""YooKassa's payments, as https://yookassa.ru/developers/api words them."""

import json
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from uuid import uuid4

from aiohttp import BasicAuth, web

from tools.simulator.payments.till import CANCELED, OPEN, PAID, Payment, PaymentProvider
from tools.simulator.request_bodies import json_object, mapping
from tools.simulator.vendor import Json, Post, RefusedError

STATUSES = {PAID: "succeeded", CANCELED: "canceled"}


def _refused(status: int, code: str, text: str) -> RefusedError:
    body = {"type": "error", "id": str(uuid4()), "code": code, "description": text}
    return RefusedError(body, status)


class YooKassa(PaymentProvider):
    name = "yookassa"
    malformed = _refused(400, "invalid_request", "Missing amount")

    @property
    def _shop(self) -> str:
        return self.settings.variable("YOOKASSA_SHOP_ID")

    def calls(self) -> list[web.RouteDef]:
        return [
            web.post("/yookassa/v3/payments", self.create),
            web.get("/yookassa/v3/payments/{id}", self.retrieve),
            web.get("/yookassa/v3/refunds/{id}", self.refund),
            web.get("/yookassa/v3/me", self.me),
        ]

    async def create(self, request: web.Request) -> web.Response:
        key = request.headers.get("Idempotence-Key", "")
        body = json_object(await request.read())
        try:
            amount = mapping(body.get("amount"))
            Decimal(str(amount["value"]))
            currency = str(amount["currency"])
        except (KeyError, InvalidOperation):
            raise self.malformed from None
        if not key:
            raise _refused(400, "invalid_request", "Idempotence key is missing")
        payment = self.book.find_by_key(self.name, key) or Payment(
            id=str(uuid4()),
            provider=self.name,
            order=str(mapping(body.get("metadata")).get("order", "")),
            amount=str(amount["value"]),
            currency=currency,
            title=str(body.get("description", "")),
            return_url=str(mapping(body.get("confirmation")).get("return_url", "")),
            key=key,
        )
        self.book.save(payment)
        return web.json_response(self.payment(payment))

    async def retrieve(self, request: web.Request) -> web.Response:
        payment = self.book.of(self.name, request.match_info["id"])
        if payment is None:
            raise _refused(404, "not_found", "Payment doesn't exist")
        return web.json_response(self.payment(payment))

    async def refund(self, request: web.Request) -> web.Response:
        refund_id = request.match_info["id"]
        for payment in self.book.payments.values():
            if payment.provider == self.name and refund_id in payment.refunds:
                return web.json_response(_refund(payment, refund_id))
        raise _refused(404, "not_found", "Refund doesn't exist")

    async def me(self, _request: web.Request) -> web.Response:
        shop = {"account_id": self._shop, "status": "enabled", "test": True}
        return web.json_response(shop)

    def payment(self, payment: Payment) -> Json:
        page = {"type": "redirect", "confirmation_url": self.page(payment)}
        return {
            "id": payment.id,
            "status": STATUSES.get(payment.state, "pending"),
            "paid": payment.state == PAID,
            "amount": {"value": payment.amount, "currency": payment.currency},
            "created_at": datetime.fromtimestamp(payment.at, UTC).isoformat(),
            "description": payment.title,
            "metadata": {"order": payment.order} if payment.order else {},
            "recipient": {"account_id": self._shop, "gateway_id": "1"},
            "refundable": payment.state == PAID and payment.left > 0,
            "test": True,
        } | ({"confirmation": page} if payment.state == OPEN else {})

    def webhook(self, payment: Payment) -> Post:
        kind = "canceled" if payment.state == CANCELED else "succeeded"
        return self._post(f"payment.{kind}", self.payment(payment))

    def forged(self, payment: Payment) -> Post:
        """The webhook of a non-existent payment that claims to be paid."""
        claimed = self.payment(payment) | {"id": str(uuid4()), "status": "succeeded", "paid": True}
        return self._post("payment.succeeded", claimed)

    def refund_webhook(self, payment: Payment, refund_id: str) -> Post:
        return self._post("refund.succeeded", _refund(payment, refund_id))

    def _post(self, event: str, resource: Json) -> Post:
        body = {"type": "notification", "event": event, "object": resource}
        return self.to_service(json.dumps(body).encode(), {})

    def authorize(self, request: web.Request) -> None:
        expected = BasicAuth(self._shop, self.settings.variable("YOOKASSA_SECRET_KEY")).encode()
        if request.headers.get("Authorization") != expected:
            raise _refused(401, "invalid_credentials", "Error in shopId or secret key")


def _refund(payment: Payment, refund_id: str) -> Json:
    amount = {"value": payment.refunds[refund_id], "currency": payment.currency}
    ids = {"id": refund_id, "payment_id": payment.id}
    return ids | {"status": "succeeded", "amount": amount}
