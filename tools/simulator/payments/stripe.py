"""Stripe Checkout, as https://docs.stripe.com/api/checkout/sessions words it.

Of its own account of the currencies: two decimals in each but a few.
"""

import hashlib
import hmac
import json
import secrets
import time
from decimal import Decimal
from typing import Any

from aiohttp import web

from tools.simulator.payments.book import CANCELED, PAID, Payment
from tools.simulator.payments.provider import PaymentProvider
from tools.simulator.request_bodies import form
from tools.simulator.vendor import Post

SESSIONS = "/stripe/v1/checkout/sessions"
WHOLE = {"jpy", "krw", "vnd", "clp", "xaf", "xof"}


class Stripe(PaymentProvider):
    name = "stripe"
    has_disputes = True

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post(SESSIONS, self.guarded(self.create)),
            web.get(SESSIONS, self.guarded(self.list)),
            web.get(f"{SESSIONS}/{{id}}", self.guarded(self.retrieve)),
        ]

    async def create(self, request: web.Request) -> web.Response:
        if not self._is_ours(request):
            return _error(401, "Invalid API Key provided")
        given, key = await form(request), request.headers.get("Idempotency-Key", "")
        price = "line_items[0][price_data]"
        currency = given.get(f"{price}[currency]", "")
        minor = given.get(f"{price}[unit_amount]", "")
        if given.get("mode") != "payment" or len(currency) != 3 or not minor.isdecimal():
            return _error(400, "Missing required param: line_items.")
        payment = self.book.made_by(self.name, key) or Payment(
            id=f"cs_test_{secrets.token_hex(29)}",
            provider=self.name,
            order=given.get("client_reference_id", ""),
            amount=str(Decimal(minor) / _unit(currency)),
            currency=currency.upper(),
            title=given.get(f"{price}[product_data][name]", ""),
            return_url=given.get("success_url", ""),
            key=key,
        )
        self.book.save(payment)
        return web.json_response(self.session(payment))

    async def list(self, request: web.Request) -> web.Response:
        if not self._is_ours(request):
            return _error(401, "Invalid API Key provided")
        return web.json_response({"object": "list", "data": [], "has_more": False})

    async def retrieve(self, request: web.Request) -> web.Response:
        if not self._is_ours(request):
            return _error(401, "Invalid API Key provided")
        payment = self.book.of(self.name, request.match_info["id"])
        if payment is None:
            return _error(404, "No such checkout.session")
        return web.json_response(self.session(payment))

    def session(self, payment: Payment) -> dict[str, Any]:
        is_paid = payment.state == PAID
        minor = _minor(payment.amount, payment.currency)
        return {
            "id": payment.id,
            "object": "checkout.session",
            "amount_subtotal": minor,
            "amount_total": minor,
            "client_reference_id": payment.order,
            "created": int(payment.at),
            "currency": payment.currency.lower(),
            "expires_at": int(payment.at) + 86_400,
            "livemode": False,
            "metadata": {"order": payment.order},
            "mode": "payment",
            "payment_intent": payment.reference if is_paid else None,
            "payment_status": "paid" if is_paid else "unpaid",
            "status": {PAID: "complete", CANCELED: "expired"}.get(payment.state, "open"),
            "success_url": payment.return_url,
            "url": self.page(payment) if payment.state == "open" else None,
        }

    def notice(self, payment: Payment) -> Post:
        kind = "expired" if payment.state == CANCELED else "completed"
        return self._post(f"checkout.session.{kind}", self.session(payment))

    def forged(self, payment: Payment) -> Post:
        paid = self.session(payment) | {"payment_status": "paid", "status": "complete"}
        return self._post("checkout.session.completed", paid, secret="whsec_somebody")  # noqa: S106

    def refund_notice(self, payment: Payment, refund_id: str) -> Post:
        what = {
            "id": refund_id,
            "object": "refund",
            "amount": _minor(payment.refunds[refund_id], payment.currency),
            "charge": f"ch_{payment.reference[3:]}",
            "currency": payment.currency.lower(),
            "payment_intent": payment.reference,
            "reason": "requested_by_customer",
            "status": "succeeded",
        }
        return self._post("refund.created", what)

    def dispute_notice(self, payment: Payment, *, is_won: bool) -> Post:
        what = {
            "id": f"du_{payment.reference[3:]}",
            "object": "dispute",
            "amount": _minor(payment.amount, payment.currency),
            "currency": payment.currency.lower(),
            "payment_intent": payment.reference,
            "status": "won" if is_won else "needs_response",
        }
        return self._post(f"charge.dispute.funds_{'reinstated' if is_won else 'withdrawn'}", what)

    def _post(self, kind: str, what: dict[str, Any], secret: str = "") -> Post:
        event = {
            "id": f"evt_{secrets.token_hex(12)}",
            "object": "event",
            "api_version": "2026-08-26.dahlia",
            "created": int(time.time()),
            "data": {"object": what},
            "livemode": False,
            "pending_webhooks": 1,
            "type": kind,
        }
        body, sent_at = json.dumps(event).encode(), str(int(time.time()))
        key = (secret or self.settings.stripe_webhook_secret).encode()
        mac = hmac.new(key, f"{sent_at}.".encode() + body, hashlib.sha256).hexdigest()
        headers = {
            "Content-Type": "application/json",
            "Stripe-Signature": f"t={sent_at},v1={mac}",
        }
        return Post(self.hook, body, headers, any_2xx=True)

    def _is_ours(self, request: web.Request) -> bool:
        return request.headers.get("Authorization") == f"Bearer {self.settings.stripe_secret_key}"


def _unit(currency: str) -> int:
    return 1 if currency.lower() in WHOLE else 100


def _minor(amount: str, currency: str) -> int:
    return int(Decimal(amount) * _unit(currency))


def _error(status: int, message: str) -> web.Response:
    kind = {"type": "invalid_request_error", "message": message}
    return web.json_response({"error": kind}, status=status)
