"""A company with a low balance that agreed to automatic top-ups, and what a charge answers."""

from decimal import Decimal
from typing import Any

from accounts.models import Company, User
from billing.gateways.declarations import GATEWAYS
from billing.models import AutoTopUp, Package, SavedMethod
from billing.orders import auto_top_up
from billing.wallet import ledger

YOOKASSA = "https://api.yookassa.ru/v3/payments"
STRIPE = "https://api.stripe.com/v1/payment_intents"


def user_of(company: Company) -> User:
    return company.members.get().user


def agree(company: Company, gateway: str = "sandbox", **terms: Any) -> AutoTopUp:
    fields = {
        "threshold": 100,
        "package": Package.objects.get(),
        "tokens": None,
        "gateway": gateway,
        "max_orders_per_day": 3,
        "max_amount_per_month": Decimal(10_000),
        "currency": Package.objects.get().currency,
    }
    return auto_top_up.turn_on(company=company, user=user_of(company), terms=fields | terms)


def save(company: Company, gateway: str = "sandbox") -> SavedMethod:
    return SavedMethod.objects.create(
        company=company,
        gateway=gateway,
        method_id="m-1",
        customer_id="cus_1",
        brand="Mir",
        last4="4242",
    )


def run() -> int:
    """Writes due orders, as the task does, and pays open ones; returns the number written."""
    written = auto_top_up.write_due()
    while any(map(auto_top_up.pay_next, GATEWAYS)):
        pass
    return written


def available(company: Company) -> int:
    return ledger.balance(company.pk)[0]


def spend(company: Company) -> None:
    """Spends all but 50 tokens."""
    if left := available(company) - 50:
        ledger.withdraw(company=company, amount=left, reason="test")


def pause_of(company: Company) -> str:
    return AutoTopUp.objects.get(company=company).paused_for


def yookassa_payment(order_id: str, **changes: Any) -> dict[str, Any]:
    """Returns a payment by a saved card as YooKassa's documentation shows it."""
    return {
        "id": "22e12f66-000f-5000-8000-18db351245c7",
        "status": "succeeded",
        "paid": True,
        "amount": {"value": "1900.00", "currency": "RUB"},
        "metadata": {"order": order_id},
        "payment_method": {
            "type": "bank_card",
            "id": "22e12f66-000f-5000-8000-18db351245c7",
            "saved": True,
            "title": "Bank card *4444",
            "card": {"first6": "555555", "last4": "4444", "card_type": "MasterCard"},
        },
    } | changes
