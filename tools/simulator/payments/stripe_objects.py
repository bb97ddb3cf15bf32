"""Stripe's objects, as https://docs.stripe.com/api words them: what is always there, what we read.

Of its own account of the currencies: two decimals in each but a few.
"""

import re
from decimal import Decimal
from typing import Any

from tools.simulator.payments.book import CANCELED, PAID, Payment

WITHOUT_CENTS = {"bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf"}
WITHOUT_CENTS |= {"vnd", "vuv", "xaf", "xof", "xpf"}
THOUSANDTHS = {"bhd", "jod", "kwd", "omr", "tnd"}
DAY = 86_400
SAVES_METHOD = "payment_intent_data[setup_future_usage]"


def major(minor: str, currency: str) -> str:
    return str(Decimal(minor) / _units(currency))


def _minor(amount: str, currency: str) -> int:
    return int(Decimal(amount) * _units(currency))


def _units(currency: str) -> int:
    if currency.lower() in WITHOUT_CENTS:
        return 1
    return 1000 if currency.lower() in THOUSANDTHS else 100


def is_intent(payment: Payment) -> bool:
    """Made by a charge without the payer, not on a page."""
    return payment.id == payment.reference


def customer_id(payment: Payment) -> str | None:
    if is_intent(payment):
        return payment.fields["customer"]
    is_created = payment.fields.get("customer_creation") == "always" and payment.state == PAID
    return f"cus_{payment.reference[3:17]}" if is_created else None


def method_id(payment: Payment) -> str:
    return payment.fields.get("payment_method") or f"pm_{payment.reference[3:]}"


def session(payment: Payment, page: str) -> dict[str, Any]:
    is_paid = payment.state == PAID
    minor = _minor(payment.amount, payment.currency)
    return {
        "id": payment.id,
        "object": "checkout.session",
        "amount_subtotal": minor,
        "amount_total": minor,
        "automatic_tax": {"enabled": False, "liability": None, "provider": None, "status": None},
        "cancel_url": payment.fields.get("cancel_url"),
        "client_reference_id": payment.order or None,
        "created": int(payment.at),
        "currency": payment.currency.lower(),
        "custom_fields": [],
        "custom_text": dict.fromkeys(
            ("after_submit", "shipping_address", "submit", "terms_of_service_acceptance")
        ),
        "customer": customer_id(payment),
        "customer_creation": payment.fields.get("customer_creation", "if_required"),
        "customer_email": payment.fields.get("customer_email"),
        "expires_at": int(payment.at) + DAY,
        "livemode": False,
        "metadata": _metadata(payment, "metadata"),
        "mode": "payment",
        "payment_intent": payment.reference if is_paid else None,
        "payment_method_types": ["card"],
        "payment_status": "paid" if is_paid else "unpaid",
        "shipping_options": [],
        "status": {PAID: "complete", CANCELED: "expired"}.get(payment.state, "open"),
        "success_url": payment.return_url,
        "url": page if payment.state == "open" else None,
    }


def intent(payment: Payment) -> dict[str, Any]:
    """Of a payment that was made."""
    minor = _minor(payment.amount, payment.currency)
    of_form = "metadata" if is_intent(payment) else "payment_intent_data[metadata]"
    return {
        "id": payment.reference,
        "object": "payment_intent",
        "amount": minor,
        "amount_capturable": 0,
        "amount_received": minor,
        "capture_method": "automatic_async",
        "confirmation_method": "automatic",
        "created": int(payment.at),
        "currency": payment.currency.lower(),
        "customer": customer_id(payment),
        "description": payment.fields.get("description"),
        "latest_charge": _charge_id(payment),
        "livemode": False,
        "metadata": _metadata(payment, of_form),
        "payment_method": method_id(payment),
        "payment_method_types": ["card"],
        "setup_future_usage": payment.fields.get(SAVES_METHOD),
        "status": "succeeded",
    }


def method(payment: Payment) -> dict[str, Any]:
    card = {
        "brand": "visa",
        "checks": None,
        "country": "US",
        "exp_month": 12,
        "exp_year": 2040,
        "funding": "credit",
        "last4": "4242",
        "networks": None,
        "three_d_secure_usage": None,
        "wallet": None,
    }
    return {
        "id": method_id(payment),
        "object": "payment_method",
        "billing_details": {
            "address": None,
            "email": payment.fields.get("customer_email"),
            "name": None,
            "phone": None,
            "tax_id": None,
        },
        "card": card,
        "created": int(payment.at),
        "customer": customer_id(payment),
        "livemode": False,
        "metadata": {},
        "type": "card",
    }


def refund(payment: Payment, refund_id: str) -> dict[str, Any]:
    return {
        "id": refund_id,
        "object": "refund",
        "amount": _minor(payment.refunds[refund_id], payment.currency),
        "balance_transaction": None,
        "charge": _charge_id(payment),
        "created": int(payment.at),
        "currency": payment.currency.lower(),
        "metadata": {},
        "payment_intent": payment.reference,
        "reason": "requested_by_customer",
        "receipt_number": None,
        "source_transfer_reversal": None,
        "status": "succeeded",
        "transfer_reversal": None,
    }


def dispute(payment: Payment, *, is_won: bool) -> dict[str, Any]:
    return {
        "id": f"du_{payment.reference[3:]}",
        "object": "dispute",
        "amount": _minor(payment.amount, payment.currency),
        "balance_transactions": [],
        "charge": _charge_id(payment),
        "created": int(payment.at),
        "currency": payment.currency.lower(),
        "enhanced_eligibility_types": [],
        "evidence": {"enhanced_evidence": {}},
        "evidence_details": {
            "due_by": None,
            "enhanced_eligibility": {},
            "has_evidence": False,
            "past_due": False,
            "submission_count": 0,
            "submission_method": "not_submitted",
        },
        "is_charge_refundable": False,
        "livemode": False,
        "metadata": {},
        "payment_intent": payment.reference,
        "reason": "fraudulent",
        "status": "won" if is_won else "needs_response",
    }


def _charge_id(payment: Payment) -> str:
    return f"ch_{payment.reference[3:]}"


def _metadata(payment: Payment, name: str) -> dict[str, str]:
    named = re.compile(rf"{re.escape(name)}\[([^]]+)\]")
    found = ((named.fullmatch(field), value) for field, value in payment.fields.items())
    return {match[1]: value for match, value in found if match}
