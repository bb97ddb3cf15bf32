"""Stripe Checkout and charges of saved cards: https://docs.stripe.com/api/checkout/sessions and
https://docs.stripe.com/api/payment_intents. What is the same in every object is in `stripe.json`.
"""

import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from aiohttp import web

from tools.simulator.payments.till import CANCELED, OPEN, PAID, Payment, PaymentProvider
from tools.simulator.request_bodies import form, whole
from tools.simulator.vendor import Json, Post, RefusedError

SESSIONS = "/stripe/v1/checkout/sessions"
INTENTS = "/stripe/v1/payment_intents"
DEFAULT_LIMIT = 10
EXPANDED = "payment_intent.payment_method"
DAY = 86_400
SAVES_METHOD = "payment_intent_data[setup_future_usage]"
STATUSES = {PAID: "complete", CANCELED: "expired"}
OBJECTS: dict[str, Json] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
# By its own documentation of currencies: two decimals in each but a few.
WITHOUT_CENTS = {"bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf"}
WITHOUT_CENTS |= {"vnd", "vuv", "xaf", "xof", "xpf"}
THOUSANDTHS = {"bhd", "jod", "kwd", "omr", "tnd"}


class Stripe(PaymentProvider):
    name = "stripe"
    has_disputes = True
    malformed = RefusedError({"error": {"type": "invalid_request_error", "message": "Form"}}, 400)

    def calls(self) -> list[web.RouteDef]:
        return [
            web.post(SESSIONS, self.create),
            web.get(SESSIONS, self.list),
            web.get(f"{SESSIONS}/{{id}}", self.retrieve),
            web.post(INTENTS, self.charge),
            web.get(f"{INTENTS}/{{id}}", self.retrieve_intent),
        ]

    async def create(self, request: web.Request) -> web.Response:
        fields = await form(request)
        price = "line_items[0][price_data]"
        currency = fields.get(f"{price}[currency]", "")
        minor = fields.get(f"{price}[unit_amount]", "")
        if fields.get("mode") != "payment" or len(currency) != 3 or not minor.isdecimal():
            raise _refused(400, "Missing required param: line_items.", param="line_items")
        payment = Payment(
            id=f"cs_test_{secrets.token_hex(29)}",
            provider=self.name,
            order=fields.get("client_reference_id", ""),
            amount=str(Decimal(minor) / _units(currency)),
            currency=currency.upper(),
            title=fields.get(f"{price}[product_data][name]", ""),
            return_url=fields.get("success_url", ""),
            fields=fields,
        )
        # A repeat is answered as the first time, when the page was open.
        return self._once(
            request, payment, lambda created: self.session(replace(created, state=OPEN))
        )

    async def charge(self, request: web.Request) -> web.Response:
        """Charges at once without the payer."""
        fields = await form(request)
        currency, minor = fields.get("currency", ""), fields.get("amount", "")
        if len(currency) != 3 or not minor.isdecimal() or fields.get("confirm") != "true":
            raise _refused(400, "Missing required param: amount.", param="amount")
        method = fields.get("payment_method", "")
        if not self._is_saved(method, fields.get("customer", "")):
            text = f"No such PaymentMethod: '{method}'"
            raise _refused(400, text, code="resource_missing", param="payment_method")
        intent_id = f"pi_{secrets.token_hex(12)}"
        payment = Payment(
            id=intent_id,
            provider=self.name,
            order=fields.get("metadata[order]", ""),
            amount=str(Decimal(minor) / _units(currency)),
            currency=currency.upper(),
            title=fields.get("description", ""),
            return_url="",
            state=PAID,
            reference=intent_id,
            fields=fields,
        )
        return self._once(request, payment, intent)

    def _once(
        self, request: web.Request, payment: Payment, render: Callable[[Payment], Json]
    ) -> web.Response:
        """One payment for each idempotency key."""
        key = request.headers.get("Idempotency-Key", "")
        created = self.book.find_by_key(self.name, key)
        if created is None:
            created = replace(payment, key=key)
            self.book.save(created)
        elif created.fields != payment.fields:
            text = "Keys for idempotent requests can only be used with the same parameters."
            raise _refused(400, text, kind="idempotency_error")
        return web.json_response(render(created))

    def _is_saved(self, method: str, customer: str) -> bool:
        return any(
            SAVES_METHOD in row.fields and (_method_id(row), _customer(row)) == (method, customer)
            for row in self._own()
            if not _is_intent(row) and row.state == PAID
        )

    def _own(self) -> list[Payment]:
        return [row for row in self.book.newest() if row.provider == self.name]

    async def list(self, request: web.Request) -> web.Response:
        sessions = [self.session(row) for row in self._own() if not _is_intent(row)]
        limit = whole(request.query.get("limit")) or DEFAULT_LIMIT
        page = {"object": "list", "data": sessions[:limit], "has_more": len(sessions) > limit}
        return web.json_response(page | {"url": "/v1/checkout/sessions"})

    async def retrieve(self, request: web.Request) -> web.Response:
        session_id = request.match_info["id"]
        payment = self.book.of(self.name, session_id)
        if payment is None or _is_intent(payment):
            raise _missing("checkout.session", session_id)
        session = self.session(payment)
        expanded = {value for name, value in request.query.items() if name.startswith("expand[")}
        if EXPANDED in expanded and payment.state == PAID:
            session["payment_intent"] = intent(payment) | {"payment_method": _method(payment)}
        return web.json_response(session)

    async def retrieve_intent(self, request: web.Request) -> web.Response:
        intent_id = request.match_info["id"]
        paid = (row for row in self._own() if row.state == PAID)
        payment = next((row for row in paid if row.reference == intent_id), None)
        if payment is None:
            raise _missing("payment_intent", intent_id)
        return web.json_response(intent(payment))

    def session(self, payment: Payment) -> Json:
        is_paid, fields = payment.state == PAID, payment.fields
        return OBJECTS["session"] | {
            "id": payment.id,
            "amount_subtotal": _minor(payment, payment.amount),
            "amount_total": _minor(payment, payment.amount),
            "cancel_url": fields.get("cancel_url"),
            "client_reference_id": payment.order or None,
            "created": int(payment.at),
            "currency": payment.currency.lower(),
            "customer": _customer(payment),
            "customer_creation": fields.get("customer_creation", "if_required"),
            "customer_email": fields.get("customer_email"),
            "expires_at": int(payment.at) + DAY,
            "metadata": _metadata(payment, "metadata"),
            "payment_intent": payment.reference if is_paid else None,
            "payment_status": "paid" if is_paid else "unpaid",
            "status": STATUSES.get(payment.state, "open"),
            "success_url": payment.return_url,
            "url": self.page(payment) if payment.state == OPEN else None,
        }

    def webhook(self, payment: Payment) -> Post:
        if _is_intent(payment):
            return self._post("payment_intent.succeeded", intent(payment))
        kind = "expired" if payment.state == CANCELED else "completed"
        return self._post(f"checkout.session.{kind}", self.session(payment))

    def forged(self, payment: Payment) -> Post:
        paid = self.session(payment) | {"payment_status": "paid", "status": "complete"}
        return self._post("checkout.session.completed", paid, secret="whsec_somebody")  # noqa: S106

    def refund_webhook(self, payment: Payment, refund_id: str) -> Post:
        amount = _minor(payment, payment.refunds[refund_id])
        refund = OBJECTS["refund"] | _about(payment) | {"id": refund_id, "amount": amount}
        return self._post("refund.created", refund)

    def dispute_webhook(self, payment: Payment, *, is_won: bool) -> Post:
        kind = f"charge.dispute.funds_{'reinstated' if is_won else 'withdrawn'}"
        dispute = {"id": f"du_{payment.reference[3:]}", "amount": _minor(payment, payment.amount)}
        status = {"status": "won" if is_won else "needs_response"}
        return self._post(kind, OBJECTS["dispute"] | _about(payment) | dispute | status)

    def _post(self, kind: str, data: Json, secret: str = "") -> Post:
        envelope = {"id": f"evt_{secrets.token_hex(12)}", "type": kind, "data": {"object": data}}
        event = OBJECTS["event"] | envelope | {"created": int(time.time())}
        body, sent_at = json.dumps(event).encode(), str(int(time.time()))
        key = (secret or self.settings.variable("STRIPE_WEBHOOK_SECRET")).encode()
        mac = hmac.new(key, f"{sent_at}.".encode() + body, hashlib.sha256).hexdigest()
        return self.to_service(body, {"Stripe-Signature": f"t={sent_at},v1={mac}"})

    def authorize(self, request: web.Request) -> None:
        expected = f"Bearer {self.settings.variable('STRIPE_SECRET_KEY')}"
        if request.headers.get("Authorization") != expected:
            raise _refused(401, "Invalid API Key provided")


def intent(payment: Payment) -> Json:
    """The payment intent of a completed payment."""
    of_form = "metadata" if _is_intent(payment) else "payment_intent_data[metadata]"
    return OBJECTS["intent"] | {
        "id": payment.reference,
        "amount": _minor(payment, payment.amount),
        "amount_received": _minor(payment, payment.amount),
        "created": int(payment.at),
        "currency": payment.currency.lower(),
        "customer": _customer(payment),
        "description": payment.fields.get("description"),
        "latest_charge": f"ch_{payment.reference[3:]}",
        "metadata": _metadata(payment, of_form),
        "payment_method": _method_id(payment),
        "setup_future_usage": payment.fields.get(SAVES_METHOD),
    }


def _method(payment: Payment) -> Json:
    empty = dict.fromkeys(("address", "name", "phone", "tax_id"))
    return OBJECTS["method"] | {
        "id": _method_id(payment),
        "billing_details": empty | {"email": payment.fields.get("customer_email")},
        "created": int(payment.at),
        "customer": _customer(payment),
    }


def _about(payment: Payment) -> dict[str, Any]:
    """Common fields of a payment's later events."""
    ids = {"charge": f"ch_{payment.reference[3:]}", "payment_intent": payment.reference}
    return ids | {"created": int(payment.at), "currency": payment.currency.lower()}


def _minor(payment: Payment, amount: str) -> int:
    return int(Decimal(amount) * _units(payment.currency))


def _units(currency: str) -> int:
    if currency.lower() in WITHOUT_CENTS:
        return 1
    return 1000 if currency.lower() in THOUSANDTHS else 100


def _is_intent(payment: Payment) -> bool:
    """Made by a charge without the payer, not on a page."""
    return payment.id == payment.reference


def _customer(payment: Payment) -> str | None:
    if _is_intent(payment):
        return payment.fields["customer"]
    is_created = payment.fields.get("customer_creation") == "always" and payment.state == PAID
    return f"cus_{payment.reference[3:17]}" if is_created else None


def _method_id(payment: Payment) -> str:
    return payment.fields.get("payment_method") or f"pm_{payment.reference[3:]}"


def _metadata(payment: Payment, name: str) -> dict[str, str]:
    pattern = re.compile(rf"{re.escape(name)}\[([^]]+)\]")
    matches = ((pattern.fullmatch(field), value) for field, value in payment.fields.items())
    return {match[1]: value for match, value in matches if match}


def _missing(kind: str, object_id: str) -> RefusedError:
    return _refused(404, f"No such {kind}: '{object_id}'", code="resource_missing", param="id")


def _refused(
    status: int, message: str, *, kind: str = "invalid_request_error", **details: str
) -> RefusedError:
    return RefusedError({"error": {"type": kind, "message": message} | details}, status)
