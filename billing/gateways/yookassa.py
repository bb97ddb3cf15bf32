"""YooKassa: cards and SBP on its page. Its webhooks are unsigned and not trusted: the payment is
read from the API.

https://yookassa.ru/developers/api, https://yookassa.ru/developers/using-api/webhooks
"""

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from datetime import timedelta
from decimal import Decimal
from ipaddress import ip_address, ip_network
from typing import Any
from urllib.parse import quote

from billing.gateways.base import (
    Charge,
    DeclinedError,
    Gateway,
    GatewayError,
    InvalidWebhookError,
    PaymentEvent,
    PaymentRequest,
    PaymentSession,
    RefundEvent,
    SavedPaymentMethod,
    WebhookRequest,
    check_id,
)
from billing.gateways.base import PaymentState as State
from billing.gateways.http import ProviderApi, RefusedByProviderError, parsing_response
from parsing.json_objects import read_object

STATES = {"succeeded": State.PAID, "canceled": State.CANCELED}
# Codes of VAT in a prepayment, by the seller's rate, as 22/122:
# https://yookassa.ru/developers/payment-acceptance/receipts/54fz/parameters-values
WITHOUT_VAT = 1
VAT_CODES = {0: 2, 5: 9, 7: 10, 10: 5, 20: 6, 22: 12}
MAX_TITLE = 128
NO_SUCH_METHOD = {404}  # not 400, which a differing repeat may cause


class YooKassa(Gateway):
    name = "yookassa"
    lifetime = timedelta(hours=24)
    currencies = frozenset({"RUB"})
    is_pollable = True
    saves_methods = True

    def __init__(
        self,
        *,
        url: str,
        shop_id: str,
        secret_key: str,
        networks: Iterable[str],
        has_receipts: bool,
    ) -> None:
        basic = b64encode(f"{shop_id}:{secret_key}".encode()).decode()
        self.api = ProviderApi(url, f"Basic {basic}")
        self.networks = [ip_network(network) for network in networks]
        self.has_receipts = has_receipts

    def open(self, payment: PaymentRequest) -> PaymentSession:
        body: dict[str, Any] = {
            "amount": _amount(payment.amount, payment.currency),
            "capture": True,
            "confirmation": {"type": "redirect", "return_url": payment.return_url},
            "description": payment.title[:MAX_TITLE],
            "metadata": {"order": payment.order_id},
        }
        if payment.saves_method:
            body["save_payment_method"] = True
        opened = self._create(body, payment)
        with parsing_response():  # a payment cancelled at once has no page
            return PaymentSession(
                str(opened["confirmation"]["confirmation_url"]), str(opened["id"])
            )

    def _create(self, body: dict[str, Any], payment: PaymentRequest) -> dict[str, Any]:
        if self.has_receipts and payment.buyer.is_person:
            body["receipt"] = _receipt(payment)
        headers = {"Content-Type": "application/json", "Idempotence-Key": payment.order_id}
        return self.api.post("/v3/payments", json.dumps(body).encode(), headers)

    def method_of(self, payment_id: str) -> SavedPaymentMethod | None:
        payment = self.api.get(f"/v3/payments/{quote(payment_id, safe='')}")
        with parsing_response():
            method = payment.get("payment_method") or {}
            if not method.get("saved"):
                return None
            card = method.get("card") or {}
            brand = str(card.get("card_type") or method.get("title") or method["type"])
            return SavedPaymentMethod(
                str(method["id"]), brand=brand[:60], last4=str(card.get("last4") or "")[:4]
            )

    def charge(self, method: SavedPaymentMethod, payment: PaymentRequest) -> Charge:
        """Charges a saved method.

        https://yookassa.ru/developers/payment-acceptance/scenario-extensions/recurring-payments
        """
        body: dict[str, Any] = {
            "amount": _amount(payment.amount, payment.currency),
            "capture": True,
            "payment_method_id": method.method_id,
            "description": payment.title[:MAX_TITLE],
            "metadata": {"order": payment.order_id},
        }
        try:
            created = self._create(body, payment)
        except RefusedByProviderError as error:
            if error.status in NO_SUCH_METHOD:
                raise DeclinedError(str(error)) from None
            raise
        with parsing_response():
            state = STATES.get(str(created["status"]))
            if state is State.CANCELED:
                raise DeclinedError(str((created.get("cancellation_details") or {}).get("reason")))
            return Charge(str(created["id"]), _event(created, state) if state else None)

    def poll(self, payment_id: str) -> PaymentEvent | None:
        payment = self.api.get(f"/v3/payments/{quote(payment_id, safe='')}")
        with parsing_response():
            state = STATES.get(str(payment["status"]))
            return _event(payment, state) if state else None

    def check_credentials(self) -> None:
        self.api.get("/v3/me")

    def parse_webhook(self, webhook: WebhookRequest) -> PaymentEvent | RefundEvent | None:
        if not self._is_theirs(webhook.ip):
            raise InvalidWebhookError
        try:
            notification = read_object(webhook.body)
            kind = str(notification["event"])
            object_id = check_id(str(notification["object"]["id"]))
        except (ValueError, TypeError, KeyError):
            raise InvalidWebhookError from None
        try:
            with parsing_response():
                return self._read(kind, object_id)
        except RefusedByProviderError as error:
            if error.status == 404:  # no such payment: the webhook is forged
                raise InvalidWebhookError from None
            raise

    def _is_theirs(self, ip: str) -> bool:
        try:
            address = ip_address(ip)
        except ValueError:
            return False
        return any(address in network for network in self.networks)

    def _read(self, kind: str, object_id: str) -> PaymentEvent | RefundEvent | None:
        if kind in {"payment.succeeded", "payment.canceled"}:
            return self.poll(object_id)
        if kind != "refund.succeeded":
            return None
        refund = self.api.get(f"/v3/refunds/{quote(object_id, safe='')}")
        if refund["status"] != "succeeded":
            return None
        return RefundEvent(
            refund_id=str(refund["id"]),
            payment_id=str(refund["payment_id"]),
            amount=Decimal(str(refund["amount"]["value"])),
            currency=str(refund["amount"]["currency"]),
        )


def _amount(amount: Decimal, currency: str) -> dict[str, str]:
    return {"value": f"{amount:.2f}", "currency": currency}


def _event(payment: Mapping[str, Any], state: State) -> PaymentEvent:
    return PaymentEvent(
        payment_id=str(payment["id"]),
        order_id=str((payment.get("metadata") or {}).get("order") or ""),
        amount=Decimal(str(payment["amount"]["value"])),
        currency=str(payment["amount"]["currency"]),
        state=state,
    )


def _receipt(payment: PaymentRequest) -> dict[str, Any]:
    """The receipt of a prepaid service, as YooKassa registers it."""
    item = {
        "description": payment.title[:MAX_TITLE],
        "quantity": 1,
        "amount": _amount(payment.amount, payment.currency),
        "vat_code": vat_code(payment.vat_rate),
        "payment_mode": "full_prepayment",
        "payment_subject": "service",
    }
    return {"customer": {"email": payment.buyer.email}, "items": [item]}


def vat_code(rate: Decimal | None) -> int:
    if rate is None:
        return WITHOUT_VAT
    code = VAT_CODES.get(int(rate)) if rate == rate.to_integral_value() else None
    if code is None:
        raise GatewayError(f"no receipt has a VAT of {rate} %")
    return code
