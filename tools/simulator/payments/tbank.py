"""T-Bank's SBP links and statement, as https://developer.tbank.ru/docs/api words them."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from itertools import islice
from typing import Any
from uuid import uuid4

from aiohttp import web

from tools.simulator.payments.till import CANCELED, PAID, Bank, Operation, Payment
from tools.simulator.request_bodies import json_object
from tools.simulator.vendor import Json, Post, RefusedError

STATUSES = {PAID: "Paid", CANCELED: "Cancelled"}
MAX_PURPOSE = 210
MIN_AMOUNT = 10
MAX_AMOUNT = 999_999
VAT = {None, "0", "5", "7", "10", "20", "22"}


def _refused(status: int, text: str) -> RefusedError:
    body = {"errorId": str(uuid4()), "errorMessage": text, "errorCode": str(status)}
    return RefusedError(body, status)


class TBank(Bank):
    name = "tbank"
    malformed = _refused(400, "Некорректный запрос")

    @property
    def _account(self) -> str:
        return self.settings.variable("TBANK_ACCOUNT")

    def calls(self) -> list[web.RouteDef]:
        return [
            web.post("/tbank/api/v1/b2b/qr/onetime", self.create),
            web.get("/tbank/api/v1/b2b/qr/{id}/info", self.info),
            web.get("/tbank/api/v1/statement", self.statement),
        ]

    async def create(self, request: web.Request) -> web.Response:
        body = json_object(await request.read())
        if wrong := _mistake(body, self._account):
            raise _refused(400, f"Некорректный запрос: {wrong}")
        payment = Payment(
            id=str(uuid4()),
            provider=self.name,
            order="",
            amount=f"{Decimal(str(body['sum'])):.2f}",
            currency="RUB",
            title=body["purpose"],
            return_url=str(body.get("redirectUrl") or ""),
        )
        self.book.save(payment)
        return web.json_response(self.link(payment))

    async def info(self, request: web.Request) -> web.Response:
        payment = self.book.of(self.name, request.match_info["id"])
        if payment is None:
            raise _refused(422, "Ошибка при обработке данных")
        return web.json_response(self.link(payment))

    async def statement(self, request: web.Request) -> web.Response:
        query = request.query
        if query.get("accountNumber") != self._account:
            raise _refused(403, "Ошибка авторизации")
        try:
            since, until = (datetime.fromisoformat(query[name]) for name in ("from", "to"))
            limit, start = int(query.get("limit", "100")), int(query.get("cursor") or 0)
        except (KeyError, ValueError):
            raise self.malformed from None
        # Seconds are left out, so the last one belongs to it as a whole.
        first, last = since.timestamp(), until.timestamp() + 1
        rows = [row for row in self.book.operations if first <= row.at < last]
        page = list(islice(rows, start, start + limit))
        end = start + len(page)
        following = str(end) if end < len(rows) else None
        operations = [self.operation(row) for row in page]
        return web.json_response({"operations": operations, "nextCursor": following})

    def link(self, payment: Payment) -> Json:
        return {
            "qrId": payment.id,
            "paymentUrl": self.page(payment),
            "type": "Onetime",
            "status": STATUSES.get(payment.state, "Ready"),
            "accountNumber": self._account,
            "sum": float(payment.amount),
        }

    def operation(self, row: Operation) -> Json:
        at = datetime.fromtimestamp(row.at, UTC)
        ours = {"acct": self._account, "inn": "7700000005", "name": "Продавец"}
        theirs = {"acct": "40702810900000000099", "inn": row.inn, "name": row.name}
        return {
            "operationId": row.id,
            "operationDate": f"{at:%Y-%m-%dT%H:%M:%SZ}",
            "operationStatus": "Transaction",
            "accountNumber": self._account,
            "typeOfOperation": "Credit" if row.is_incoming else "Debit",
            "documentNumber": row.number,
            "docDate": f"{at:%Y-%m-%d}",
            "operationAmount": float(row.amount),
            "operationCurrencyDigitalCode": row.currency,
            "accountAmount": float(row.amount),
            "accountCurrencyDigitalCode": row.currency,
            "payPurpose": row.purpose,
            "payer": theirs if row.is_incoming else ours,
            "receiver": ours if row.is_incoming else theirs,
        }

    def webhook(self, payment: Payment) -> Post:
        status = "CANCELLED" if payment.state == CANCELED else "PAID"
        return self._post({"qrId": payment.id, "status": status})

    def forged(self, payment: Payment) -> Post:
        return self._post({"qrId": payment.id, "status": "PAID"}, secret="guessed")  # noqa: S106

    def refund_webhook(self, payment: Payment, refund_id: str) -> Post:
        return self.new_operation()

    def new_operation(self) -> Post:
        newest = self.book.operations[-1:]
        operation = self.operation(newest[0]) if newest else {"operationId": "none"}
        return self._post(operation | {"accountNumber": self._account})

    def paid(self, payment: Payment) -> list[Post]:
        self.book.book(Operation(payment.amount, payment.title))
        return [self.new_operation()]

    def refunded(self, payment: Payment, amount: str) -> None:
        self.book.book(Operation(amount, f"Возврат: {payment.title}", is_incoming=False))

    def _post(self, webhook: dict[str, Any], secret: str = "") -> Post:
        bearer = f"Bearer {secret or self.settings.variable('TBANK_WEBHOOK_SECRET')}"
        return self.to_service(json.dumps(webhook).encode(), {"Authorization": bearer})

    def authorize(self, request: web.Request) -> None:
        expected = f"Bearer {self.settings.variable('TBANK_TOKEN')}"
        if request.headers.get("Authorization") != expected:
            raise _refused(401, "Ошибка аутентификации")


def _mistake(body: Json, account: str) -> str:
    amount, purpose = body.get("sum"), body.get("purpose")
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        return "sum"
    if not MIN_AMOUNT <= amount <= MAX_AMOUNT:
        return "sum"
    if not isinstance(purpose, str) or not 1 <= len(purpose) <= MAX_PURPOSE:
        return "purpose"
    if not isinstance(body.get("ttl"), int):
        return "ttl"
    if body.get("vat") not in VAT:
        return "vat"
    return "" if body.get("accountNumber") in {None, account} else "accountNumber"
