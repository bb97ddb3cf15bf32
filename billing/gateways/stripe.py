"""Stripe Checkout: a hosted page; webhooks are signed.

https://docs.stripe.com/api/checkout/sessions, https://docs.stripe.com/webhooks#verify-manually
"""

import hashlib
import hmac
import time
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import quote, urlencode

from billing.gateways.base import (
    Charge,
    DeclinedError,
    Gateway,
    InvalidWebhookError,
    PaymentEvent,
    PaymentRequest,
    PaymentSession,
    RefundEvent,
    SavedPaymentMethod,
    WebhookRequest,
)
from billing.gateways.base import PaymentState as State
from billing.gateways.http import ProviderApi, RefusedByProviderError, parsing_response
from parsing.json_objects import read_object

SIGNATURE = "Stripe-Signature"
TOLERANCE = 300  # seconds
MAX_DIGITS = 12  # digits of a time; a longer number overflows
# https://docs.stripe.com/currencies#zero-decimal and #three-decimal
WITHOUT_CENTS = frozenset(
    {"BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA"}
    | {"PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF"}
)
# #special-cases: written with two decimals, which must be zero.
WHOLE_UNITS = WITHOUT_CENTS | {"ISK", "UGX"}
THOUSANDTHS = frozenset({"BHD", "JOD", "KWD", "OMR", "TND"})
ENDED = {
    "checkout.session.async_payment_failed": State.CANCELED,
    "checkout.session.expired": State.CANCELED,
}
PAID = {"checkout.session.completed", "checkout.session.async_payment_succeeded"}
# Events of charges without the payer; a session's payment has events of its own.
CHARGED = {
    "payment_intent.succeeded": State.PAID,
    "payment_intent.payment_failed": State.CANCELED,
    "payment_intent.canceled": State.CANCELED,
}
INTENT_STATES = {
    "succeeded": State.PAID,
    "canceled": State.CANCELED,
    "requires_payment_method": State.CANCELED,
    "requires_action": State.CANCELED,  # nobody is present to confirm
}
INTENT = "pi_"
DECLINED = 402
# https://docs.stripe.com/api/errors: a deleted or detached method is `INVALID`, mostly with 400,
# like a differing repeat, which has its own type and decides nothing.
REFUSED = {400, 404}
INVALID = "invalid_request_error"
REFUNDED = {"refund.created", "refund.updated", "refund.failed", "charge.refund.updated"}
REFUND_ENDS = {"succeeded": False, "failed": True, "canceled": True}  # a bank may return it
DISPUTED = {"charge.dispute.funds_withdrawn": False, "charge.dispute.funds_reinstated": True}


class Stripe(Gateway):
    name = "stripe"
    lifetime = timedelta(hours=23)  # a session expires after 24 hours
    is_pollable = True
    saves_methods = True

    def __init__(self, *, url: str, secret_key: str, webhook_secret: str) -> None:
        self.api = ProviderApi(url, f"Bearer {secret_key}")
        self.webhook_secret = webhook_secret.encode()

    def takes(self, currency: str, amount: Decimal | None = None) -> bool:
        return currency not in WHOLE_UNITS or amount is None or amount == int(amount)

    def open(self, payment: PaymentRequest) -> PaymentSession:
        price = "line_items[0][price_data]"
        fields = {
            "mode": "payment",
            "client_reference_id": payment.order_id,
            "success_url": payment.return_url,
            "cancel_url": payment.return_url,
            "line_items[0][quantity]": "1",
            f"{price}[currency]": payment.currency.lower(),
            f"{price}[unit_amount]": str(to_minor(payment.amount, payment.currency)),
            f"{price}[product_data][name]": payment.title,
            # In the payer's own currency it would no longer be the order's amount.
            "adaptive_pricing[enabled]": "false",
            "metadata[order]": payment.order_id,
            "payment_intent_data[metadata][order]": payment.order_id,
        }
        if payment.buyer.email:
            fields["customer_email"] = payment.buyer.email
        if payment.saves_method:
            fields["customer_creation"] = "always"
            fields["payment_intent_data[setup_future_usage]"] = "off_session"
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Idempotency-Key": f"kvitok-{payment.order_id}",
        }
        session = self.api.post("/v1/checkout/sessions", urlencode(fields).encode(), headers)
        with parsing_response():
            return PaymentSession(_require_string(session["url"]), _require_string(session["id"]))

    def method_of(self, payment_id: str) -> SavedPaymentMethod | None:
        expanded = "expand[]=payment_intent.payment_method"
        session = self.api.get(f"/v1/checkout/sessions/{quote(payment_id, safe='')}?{expanded}")
        with parsing_response():
            method = (session.get("payment_intent") or {}).get("payment_method")
            if not method or not session.get("customer"):
                return None
            card = method.get("card") or {}
            brand = str(card.get("brand") or method["type"])
            return SavedPaymentMethod(
                str(method["id"]),
                str(session["customer"]),
                brand.capitalize()[:60],
                str(card.get("last4") or "")[:4],
            )

    def charge(self, method: SavedPaymentMethod, payment: PaymentRequest) -> Charge:
        """Charges a saved method.

        https://docs.stripe.com/payments/save-and-reuse#charge-saved-payment-method
        """
        fields = {
            "amount": str(to_minor(payment.amount, payment.currency)),
            "currency": payment.currency.lower(),
            "customer": method.customer_id,
            "payment_method": method.method_id,
            "off_session": "true",
            "confirm": "true",
            "error_on_requires_action": "true",
            "description": payment.title,
            "metadata[order]": payment.order_id,
            "metadata[automatic]": "true",
        }
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Idempotency-Key": f"kvitok-charge-{payment.order_id}",
        }
        try:
            intent = self.api.post("/v1/payment_intents", urlencode(fields).encode(), headers)
        except RefusedByProviderError as error:
            if _is_final(error):
                raise DeclinedError(str(error)) from None
            raise
        with parsing_response():
            state = INTENT_STATES.get(str(intent["status"]))
            if state is State.CANCELED:
                raise DeclinedError(str(intent["status"]))
            return Charge(str(intent["id"]), _charge_event(intent, state) if state else None)

    def poll(self, payment_id: str) -> PaymentEvent | None:
        if payment_id.startswith(INTENT):
            intent = self.api.get(f"/v1/payment_intents/{quote(payment_id, safe='')}")
            with parsing_response():
                state = INTENT_STATES.get(str(intent["status"]))
                return _charge_event(intent, state) if state else None
        session = self.api.get(f"/v1/checkout/sessions/{quote(payment_id, safe='')}")
        with parsing_response():
            if session["payment_status"] == "paid":
                return _event(session, State.PAID)
            return _event(session, State.CANCELED) if session["status"] == "expired" else None

    def check_credentials(self) -> None:
        self.api.get("/v1/checkout/sessions?limit=1")

    def parse_webhook(self, webhook: WebhookRequest) -> PaymentEvent | RefundEvent | None:
        self._verify(webhook.headers.get(SIGNATURE, ""), webhook.body)
        try:
            event = read_object(webhook.body)
            return _translate(str(event["type"]), event["data"]["object"])
        except (ValueError, TypeError, KeyError, ArithmeticError, AttributeError):
            raise InvalidWebhookError from None

    def _verify(self, header: str, body: bytes) -> None:
        """Verifies that a `v1` signature is ours, and that the time is recent, against replays."""
        pairs = [pair.strip().partition("=")[::2] for pair in header.split(",")]
        sent_at = next((value for name, value in pairs if name == "t"), "")
        if not (sent_at.isascii() and sent_at.isdecimal() and len(sent_at) <= MAX_DIGITS):
            raise InvalidWebhookError
        if abs(time.time() - int(sent_at)) > TOLERANCE:
            raise InvalidWebhookError
        ours = self.sign(sent_at, body).encode()
        signatures = [value.encode() for name, value in pairs if name == "v1"]
        if not any(hmac.compare_digest(signature, ours) for signature in signatures):
            raise InvalidWebhookError

    def sign(self, sent_at: str, body: bytes) -> str:
        signed = sent_at.encode() + b"." + body
        return hmac.new(self.webhook_secret, signed, hashlib.sha256).hexdigest()


def _is_final(error: RefusedByProviderError) -> bool:
    is_invalid = error.status in REFUSED and error.kind == INVALID
    return is_invalid or error.status == DECLINED


def _require_string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _translate(kind: str, subject: Mapping[str, Any]) -> PaymentEvent | RefundEvent | None:
    if kind in PAID:
        # `completed` is also sent for unconfirmed payments by bank.
        return _event(subject, State.PAID) if subject["payment_status"] == "paid" else None
    # A session without an amount, of mode `setup`, is not ours.
    if kind in ENDED and subject["amount_total"] is not None:
        return _event(subject, ENDED[kind])
    if kind in CHARGED:
        is_ours = (subject.get("metadata") or {}).get("automatic") == "true"
        return _charge_event(subject, CHARGED[kind]) if is_ours else None
    if kind in REFUNDED and subject["status"] in REFUND_ENDS:
        return _refund(subject, is_returned=REFUND_ENDS[subject["status"]])
    if kind in DISPUTED:
        return _refund(subject, is_returned=DISPUTED[kind])
    return None


def _event(session: Mapping[str, Any], state: State) -> PaymentEvent:
    currency = str(session["currency"]).upper()
    return PaymentEvent(
        payment_id=str(session["id"]),
        order_id=str(session.get("client_reference_id") or ""),
        amount=from_minor(session["amount_total"], currency),
        currency=currency,
        state=state,
        reference=str(session.get("payment_intent") or ""),
    )


def _charge_event(intent: Mapping[str, Any], state: State) -> PaymentEvent:
    currency = str(intent["currency"]).upper()
    received = intent.get("amount_received") if state is State.PAID else intent["amount"]
    return PaymentEvent(
        payment_id=str(intent["id"]),
        order_id=str((intent.get("metadata") or {}).get("order") or ""),
        amount=from_minor(received, currency),
        currency=currency,
        state=state,
    )


def _refund(refund: Mapping[str, Any], *, is_returned: bool) -> RefundEvent:
    currency = str(refund["currency"]).upper()
    return RefundEvent(
        refund_id=str(refund["id"]),
        payment_id=str(refund.get("payment_intent") or refund.get("charge") or ""),
        amount=from_minor(refund["amount"], currency),
        currency=currency,
        is_returned=is_returned,
    )


def _unit(currency: str) -> Decimal:
    if currency in WITHOUT_CENTS:
        return Decimal(1)
    return Decimal("0.001") if currency in THOUSANDTHS else Decimal("0.01")


def to_minor(amount: Decimal, currency: str) -> int:
    """Converts to the currency's smallest unit; never rounds: an order that does not fit is an
    error.
    """
    minor = amount / _unit(currency)
    if minor != minor.to_integral_value():
        raise ValueError(f"{amount} {currency}")
    return int(minor)


def from_minor(amount: object, currency: str) -> Decimal:
    if not isinstance(amount, int) or isinstance(amount, bool):
        raise TypeError(amount)
    return (amount * _unit(currency)).quantize(Decimal("0.01"))
