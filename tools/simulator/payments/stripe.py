"""Stripe Checkout and charges of saved cards: https://docs.stripe.com/api/checkout/sessions and
https://docs.stripe.com/api/payment_intents.
"""

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from aiohttp import web

from tools.simulator.payments import stripe_objects as objects
from tools.simulator.payments.book import CANCELED, OPEN, PAID, Payment
from tools.simulator.payments.provider import Call, PaymentProvider
from tools.simulator.request_bodies import form, whole
from tools.simulator.vendor import Post

SESSIONS = "/stripe/v1/checkout/sessions"
INTENTS = "/stripe/v1/payment_intents"
DEFAULT_LIMIT = 10
EXPANDED = "payment_intent.payment_method"


class Stripe(PaymentProvider):
    name = "stripe"
    has_disputes = True

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post(SESSIONS, self._ours(self.create)),
            web.get(SESSIONS, self._ours(self.list)),
            web.get(f"{SESSIONS}/{{id}}", self._ours(self.retrieve)),
            web.post(INTENTS, self._ours(self.charge)),
            web.get(f"{INTENTS}/{{id}}", self._ours(self.retrieve_intent)),
        ]

    async def create(self, request: web.Request) -> web.Response:
        given = await form(request)
        price = "line_items[0][price_data]"
        currency = given.get(f"{price}[currency]", "")
        minor = given.get(f"{price}[unit_amount]", "")
        if given.get("mode") != "payment" or len(currency) != 3 or not minor.isdecimal():
            return _error(400, "Missing required param: line_items.", param="line_items")
        return self._once(
            request,
            Payment(
                id=f"cs_test_{secrets.token_hex(29)}",
                provider=self.name,
                order=given.get("client_reference_id", ""),
                amount=objects.major(minor, currency),
                currency=currency.upper(),
                title=given.get(f"{price}[product_data][name]", ""),
                return_url=given.get("success_url", ""),
                fields=given,
            ),
            # A repeat is answered as the first time, when the page was open.
            lambda payment: self.session(replace(payment, state=OPEN)),
        )

    async def charge(self, request: web.Request) -> web.Response:
        """Without the payer, at once."""
        given = await form(request)
        currency, minor = given.get("currency", ""), given.get("amount", "")
        if len(currency) != 3 or not minor.isdecimal() or given.get("confirm") != "true":
            return _error(400, "Missing required param: amount.", param="amount")
        method = given.get("payment_method", "")
        if not self._is_saved(method, given.get("customer", "")):
            text = f"No such PaymentMethod: '{method}'"
            return _error(400, text, code="resource_missing", param="payment_method")
        named = f"pi_{secrets.token_hex(12)}"
        return self._once(
            request,
            Payment(
                id=named,
                provider=self.name,
                order=given.get("metadata[order]", ""),
                amount=objects.major(minor, currency),
                currency=currency.upper(),
                title=given.get("description", ""),
                return_url="",
                state=PAID,
                reference=named,
                fields=given,
            ),
            objects.intent,
        )

    def _once(
        self, request: web.Request, payment: Payment, shown: Callable[[Payment], dict[str, Any]]
    ) -> web.Response:
        """One payment for each idempotency key."""
        key = request.headers.get("Idempotency-Key", "")
        made = self.book.made_by(self.name, key)
        if made is None:
            made = replace(payment, key=key)
            self.book.save(made)
        elif made.fields != payment.fields:
            text = "Keys for idempotent requests can only be used with the same parameters."
            return _error(400, text, kind="idempotency_error")
        return web.json_response(shown(made))

    def _is_saved(self, method: str, customer: str) -> bool:
        pages = (one for one in self._own() if not objects.is_intent(one) and one.state == PAID)
        return any(
            objects.SAVES_METHOD in one.fields
            and (objects.method_id(one), objects.customer_id(one)) == (method, customer)
            for one in pages
        )

    def _own(self) -> list[Payment]:
        return [one for one in self.book.newest() if one.provider == self.name]

    async def list(self, request: web.Request) -> web.Response:
        sessions = [self.session(one) for one in self._own() if not objects.is_intent(one)]
        limit = whole(request.query.get("limit")) or DEFAULT_LIMIT
        return web.json_response(
            {
                "object": "list",
                "data": sessions[:limit],
                "has_more": len(sessions) > limit,
                "url": "/v1/checkout/sessions",
            }
        )

    async def retrieve(self, request: web.Request) -> web.Response:
        named = request.match_info["id"]
        payment = self.book.of(self.name, named)
        if payment is None or objects.is_intent(payment):
            return _missing("checkout.session", named)
        session = self.session(payment)
        expanded = {value for name, value in request.query.items() if name.startswith("expand[")}
        if EXPANDED in expanded and payment.state == PAID:
            method = {"payment_method": objects.method(payment)}
            session["payment_intent"] = objects.intent(payment) | method
        return web.json_response(session)

    async def retrieve_intent(self, request: web.Request) -> web.Response:
        named = request.match_info["id"]
        paid = (one for one in self._own() if one.state == PAID)
        payment = next((one for one in paid if one.reference == named), None)
        if payment is None:
            return _missing("payment_intent", named)
        return web.json_response(objects.intent(payment))

    def session(self, payment: Payment) -> dict[str, Any]:
        return objects.session(payment, self.page(payment))

    def notice(self, payment: Payment) -> Post:
        if objects.is_intent(payment):
            return self._post("payment_intent.succeeded", objects.intent(payment))
        kind = "expired" if payment.state == CANCELED else "completed"
        return self._post(f"checkout.session.{kind}", self.session(payment))

    def forged(self, payment: Payment) -> Post:
        paid = self.session(payment) | {"payment_status": "paid", "status": "complete"}
        return self._post("checkout.session.completed", paid, secret="whsec_somebody")  # noqa: S106

    def refund_notice(self, payment: Payment, refund_id: str) -> Post:
        return self._post("refund.created", objects.refund(payment, refund_id))

    def dispute_notice(self, payment: Payment, *, is_won: bool) -> Post:
        kind = f"charge.dispute.funds_{'reinstated' if is_won else 'withdrawn'}"
        return self._post(kind, objects.dispute(payment, is_won=is_won))

    def _post(self, kind: str, what: dict[str, Any], secret: str = "") -> Post:
        event = {
            "id": f"evt_{secrets.token_hex(12)}",
            "object": "event",
            "api_version": "2026-10-28.endive",
            "created": int(time.time()),
            "data": {"object": what},
            "livemode": False,
            "pending_webhooks": 1,
            "request": {"id": None, "idempotency_key": None},
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

    def _ours(self, call: Call) -> Call:
        async def answer(request: web.Request) -> web.Response:
            own = f"Bearer {self.settings.stripe_secret_key}"
            if request.headers.get("Authorization") != own:
                return _error(401, "Invalid API Key provided")
            return await call(request)

        return self.guarded(answer)


def _missing(kind: str, named: str) -> web.Response:
    return _error(404, f"No such {kind}: '{named}'", code="resource_missing", param="id")


def _error(
    status: int, message: str, *, kind: str = "invalid_request_error", **more: str
) -> web.Response:
    error = {"type": kind, "message": message} | more
    return web.json_response({"error": error}, status=status)
