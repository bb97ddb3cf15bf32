"""Three payment providers as their documentation describes them: answers, events, signatures."""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import responses
from django.conf import settings
from django.test import Client

from accounts.models import Company
from billing.bank_statements import reading
from billing.gateways import registry
from billing.gateways.stripe import Stripe
from billing.models import Order, StatementMark
from billing.orders import orders
from billing.orders.prices import Quote
from tests.billing.top_ups import gateway

ACCOUNT = "40702810110011000430"
SETTINGS: dict[str, Any] = {
    "PAYMENT_GATEWAYS": ["invoice", "sandbox", "stripe", "yookassa", "tbank"],
    "GATEWAY_ACCOUNTS": {
        "stripe": settings.GATEWAY_ACCOUNTS["stripe"]
        | {"secret_key": "sk_test_1", "webhook_secret": "whsec_test"},
        "yookassa": settings.GATEWAY_ACCOUNTS["yookassa"]
        | {"shop_id": "100500", "secret_key": "test_secret"},
        "tbank": settings.GATEWAY_ACCOUNTS["tbank"]
        | {
            "account": ACCOUNT,
            "has_statement": True,
            "token": "t.test",
            "webhook_secret": "from-the-bank",
        },
    },
}


@contextmanager
def mocked_providers(test_settings: object) -> Iterator[None]:
    """Configures the three providers, and lets `responses` answer for them."""
    for name, value in SETTINGS.items():
        setattr(test_settings, name, value)
    registry.forget_settings()
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mocked:
        for name in ("upsert", "add", "add_callback", "calls", "registered"):
            setattr(responses, name, getattr(mocked, name))
        yield
    registry.forget_settings()


class Vendor(ABC):
    """A provider, with the calls that the contract's tests need."""

    name: str
    currency: str
    names_orders = True  # whether it tells us our order's id

    @abstractmethod
    def opens(self, payment_id: str) -> None: ...

    @abstractmethod
    def notify(self, order: Order, state: str = "paid", **changes: Any) -> int:
        """Posts a webhook, which the API confirms; returns our status."""

    @abstractmethod
    def refund(self, order: Order, refund_id: str, amount: str) -> int: ...

    @abstractmethod
    def forge(self, order: Order) -> int:
        """Posts a webhook by somebody else."""

    @abstractmethod
    def knows(self, order: Order, state: str) -> None:
        """Sets the API's answer about the order's payment."""

    def place(self, company: Company, amount: str = "1900.00", tokens: int = 1000) -> Order:
        quote = Quote(tokens, Decimal(amount), self.currency)
        way = gateway(self.name)
        return orders.place(company=company, quote=quote, gateway=way)


class StripeVendor(Vendor):
    name = "stripe"
    currency = "EUR"
    url = "https://api.stripe.com/v1/checkout/sessions"

    def opens(self, payment_id: str) -> None:
        page = f"https://checkout.stripe.com/c/pay/{payment_id}#{'f' * 900}"
        response = {"id": payment_id, "object": "checkout.session", "url": page, "status": "open"}
        responses.upsert("POST", self.url, json=response)

    def session(self, order: Order, state: str, **changes: Any) -> dict[str, Any]:
        is_paid = state == "paid"
        session = {
            "id": order.payment_id or f"cs_test_{order.pk.hex}",
            "object": "checkout.session",
            "client_reference_id": order.pk.hex,
            "amount_total": int(order.amount * 100),
            "currency": order.currency.lower(),
            "payment_intent": f"pi_{order.pk.hex}" if is_paid else None,
            "payment_status": "paid" if is_paid else "unpaid",
            "status": "complete" if is_paid else "expired" if state == "canceled" else "open",
        }
        if "amount" in changes:
            session["amount_total"] = int(Decimal(changes["amount"]) * 100)
        if "currency" in changes:
            session["currency"] = changes["currency"].lower()
        if "payment_id" in changes:
            session["id"] = changes["payment_id"]
        return session

    def knows(self, order: Order, state: str) -> None:
        session = self.session(order, state)
        responses.upsert("GET", f"{self.url}/{session['id']}", json=session)

    def notify(self, order: Order, state: str = "paid", **changes: Any) -> int:
        kinds = {"paid": "completed", "canceled": "expired", "open": "completed"}
        session = self.session(order, state, **changes)
        return self.post(f"checkout.session.{kinds[state]}", session)

    def refund(self, order: Order, refund_id: str, amount: str, currency: str = "") -> int:
        what = {
            "id": refund_id,
            "object": "refund",
            "amount": int(Decimal(amount) * 100),
            "currency": currency or order.currency.lower(),
            "payment_intent": f"pi_{order.pk.hex}",
            "status": "succeeded",
        }
        return self.post("refund.created", what)

    def dispute(self, order: Order, *, is_won: bool) -> int:
        what = {
            "id": "dp_1",
            "object": "dispute",
            "amount": int(order.amount * 100),
            "currency": order.currency.lower(),
            "payment_intent": f"pi_{order.pk.hex}",
        }
        kind = "funds_reinstated" if is_won else "funds_withdrawn"
        return self.post(f"charge.dispute.{kind}", what)

    def post(
        self, kind: str, what: dict[str, Any], *, age: float = 0.0, signature: str = ""
    ) -> int:
        event = {"id": "evt_1", "object": "event", "type": kind, "data": {"object": what}}
        return self.post_event(event, age=age, signature=signature)

    def post_event(self, event: dict[str, Any], *, age: float = 0.0, signature: str = "") -> int:
        body = json.dumps(event).encode()
        stripe = gateway("stripe")
        assert isinstance(stripe, Stripe)
        sent_at = str(int(time.time() - age))
        signed = signature or f"t={sent_at},v1={'0' * 64},v1={stripe.sign(sent_at, body)},v0=1"
        return post("stripe", body, headers={"Stripe-Signature": signed})

    def forge(self, order: Order) -> int:
        session = self.session(order, "paid")
        now = int(time.time())
        kind = "checkout.session.completed"
        return self.post(kind, session, signature=f"t={now},v1={'0' * 64}")


class YooKassaVendor(Vendor):
    name = "yookassa"
    currency = "RUB"
    url = "https://api.yookassa.ru/v3"
    theirs = "185.71.76.1"

    def opens(self, payment_id: str) -> None:
        page = f"https://yoomoney.ru/checkout/payments/v2/contract?orderId={payment_id}"
        response = {
            "id": payment_id,
            "status": "pending",
            "confirmation": {"type": "redirect", "confirmation_url": page},
        }
        responses.upsert("POST", f"{self.url}/payments", json=response)

    def payment(self, order: Order, state: str, **changes: Any) -> dict[str, Any]:
        status = {"paid": "succeeded", "canceled": "canceled", "open": "pending"}[state]
        value = str(changes.get("amount", order.amount))
        return {
            "id": changes.get("payment_id", order.payment_id or f"yoo-{order.pk.hex}"),
            "status": status,
            "paid": state == "paid",
            "amount": {"value": value, "currency": changes.get("currency", order.currency)},
            "metadata": {"order": order.pk.hex},
        }

    def knows(self, order: Order, state: str, **changes: Any) -> None:
        payment = self.payment(order, state, **changes)
        responses.upsert("GET", f"{self.url}/payments/{payment['id']}", json=payment)

    def notify(self, order: Order, state: str = "paid", **changes: Any) -> int:
        self.knows(order, state, **changes)
        named = self.payment(order, state, **changes)["id"]
        event = "payment.canceled" if state == "canceled" else "payment.succeeded"
        # What the webhook claims is not believed: only the id in it is read.
        return self.post(event, {"id": named, "status": "succeeded"}, self.theirs)

    def refund(self, order: Order, refund_id: str, amount: str) -> int:
        what = {
            "id": refund_id,
            "payment_id": order.payment_id,
            "status": "succeeded",
            "amount": {"value": amount, "currency": order.currency},
        }
        responses.upsert("GET", f"{self.url}/refunds/{refund_id}", json=what)
        return self.post("refund.succeeded", what, self.theirs)

    def post(self, kind: str, what: dict[str, Any], ip: str) -> int:
        body = json.dumps({"type": "notification", "event": kind, "object": what}).encode()
        return post("yookassa", body, REMOTE_ADDR=ip)

    def forge(self, order: Order) -> int:
        missing = {"type": "error", "code": "not_found", "description": "no such payment"}
        url = f"{self.url}/payments/{order.payment_id}"
        responses.upsert("GET", url, json=missing, status=404)
        return self.post("payment.succeeded", self.payment(order, "paid"), self.theirs)


class TBankVendor(Vendor):
    name = "tbank"
    currency = "RUB"
    url = "https://business.tbank.ru/openapi/api/v1"
    names_orders = False  # the bank has no field for our order's id

    def __init__(self) -> None:
        self.operations: list[dict[str, Any]] = []

    def opens(self, payment_id: str) -> None:
        responses.upsert("POST", f"{self.url}/b2b/qr/onetime", json=self.payment_link(payment_id))

    @staticmethod
    def payment_link(payment_id: str, **more: Any) -> dict[str, Any]:
        return {
            "qrId": payment_id,
            "paymentUrl": f"https://b2b.cbrpay.ru/{payment_id}",
            "type": "Onetime",
            "status": "Ready",
            "accountNumber": ACCOUNT,
            **more,
        }

    def knows(self, order: Order, state: str, **changes: Any) -> None:
        named = str(changes.get("payment_id", order.payment_id))
        status = {"paid": "Paid", "canceled": "Cancelled", "open": "Ready"}[state]
        value = float(changes.get("amount", order.amount))
        link = self.payment_link(named, status=status, sum=value)
        responses.upsert("GET", f"{self.url}/b2b/qr/{named}/info", json=link)

    def notify(self, order: Order, state: str = "paid", **changes: Any) -> int:
        self.knows(order, state, **changes)
        # What the webhook claims is not believed: only the id in it is read.
        return self.post({"qrId": changes.get("payment_id", order.payment_id), "status": "PAID"})

    def refund(self, order: Order, refund_id: str, amount: str) -> int:
        """The operator's own payment order, which the statement then shows."""
        known = {row["operationId"] for row in self.operations}
        if refund_id not in known:
            purpose = f"Возврат оплаты top_{order.pk.hex}"
            self.operations.append(operation(refund_id, amount, purpose, kind="Debit"))
        return self.read_statement()

    def read_statement(self) -> int:
        page = {"operations": self.operations, "nextCursor": None}
        responses.upsert("GET", f"{self.url}/statement", json=page)
        StatementMark.objects.get_or_create(account=ACCOUNT)
        status = self.post({"operationId": "news", "accountNumber": ACCOUNT})
        reading.read(str(ACCOUNT))
        return status

    def post(self, webhook: dict[str, Any], authorization: str = "Bearer from-the-bank") -> int:
        body = json.dumps(webhook).encode()
        return post("tbank", body, headers={"Authorization": authorization})

    def forge(self, order: Order) -> int:
        self.knows(order, "paid")
        return self.post({"qrId": order.payment_id, "status": "PAID"}, "Bearer guessed")


def operation(name: str, amount: str, purpose: str, **changes: Any) -> dict[str, Any]:
    """Returns an operation of a statement (developer.tbank.ru/docs/api/get-api-v-1-statement)."""
    party = {
        "acct": changes.get("payer_account", "40702810900000000099"),
        "inn": changes.get("inn", "7800000002"),
        "kpp": "780001001",
        "name": 'ООО "Ромашка"',
        "bicRu": "044525225",
        "bankName": "ПАО СБЕРБАНК",
    }
    ours = {"acct": ACCOUNT, "inn": "7700000005", "name": "ООО Продавец"}
    kind = changes.get("kind", "Credit")
    return {
        "operationId": name,
        "operationDate": "2026-11-25T09:15:04Z",
        "operationStatus": changes.get("status", "Transaction"),
        "accountNumber": ACCOUNT,
        "typeOfOperation": kind,
        "documentNumber": changes.get("number", "17"),
        "docDate": "2026-11-25",
        "operationAmount": float(amount),
        "operationCurrencyDigitalCode": changes.get("currency", "643"),
        "accountAmount": float(amount),
        "accountCurrencyDigitalCode": changes.get("currency", "643"),
        "rubleAmount": float(amount),
        "payPurpose": purpose,
        "payer": party if kind == "Credit" else ours,
        "receiver": ours if kind == "Credit" else party,
    }


def post(name: str, body: bytes, **more: Any) -> int:
    response = Client().post(f"/hooks/{name}", body, content_type="application/json", **more)
    return response.status_code
