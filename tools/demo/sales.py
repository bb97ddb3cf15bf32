"""What the demo company buys: prices, fictional requisites, a paid and an unpaid top-up."""

from datetime import timedelta
from decimal import Decimal

from django.conf import settings
from django.utils import timezone

from accounts.models import Company, User
from billing.gateways import registry
from billing.gateways.base import Gateway
from billing.gateways.invoice.gateway import Invoice
from billing.models import Order, Package, Seller, Tariff
from billing.orders import billing_profiles, orders, payments, prices
from billing.wallet import ledger

PACKAGES = (("start", 1_000, "1900"), ("growth", 10_000, "17000"), ("scale", 100_000, "150000"))
STEPS = ((100, "2"), (1_000, "1.9"), (10_000, "1.7"), (100_000, "1.5"))
PAID, UNPAID = "growth", "start"
SELLER = {
    "name": "ООО «Демонстрация»",
    "inn": "7700000009",
    "kpp": "770001001",
    "address": "101000, Москва, Примерная улица, дом 1",
    "bank_name": "ПАО «Пример-банк», г. Москва",
    "bic": "044500000",
    "account": "40700000000000000001",
    "corr_account": "30100000000000000001",
    "vat_rate": Decimal(22),
    "head": "Демонстрационная Подпись",
}
BUYER = {
    "legal_name": "ООО «Демо»",
    "inn": "7800000002",
    "kpp": "780001001",
    "address": "190000, Санкт-Петербург, Примерный переулок, дом 2",
}


def make(company: Company, user: User, tokens: int) -> None:
    """Leaves the company with exactly so many tokens available."""
    _set_prices()
    billing_profiles.change(company=company, user=user, changes=BUYER)
    gateway = registry.find(Invoice.name)
    if gateway is not None:
        paid = _order(company, user, PAID, gateway)
        payments.confirm(
            order=paid,
            amount=paid.amount,
            paid_on=timezone.localdate(),
            reference="demo",
            user=user,
        )
        _order(company, user, UNPAID, gateway)
    available, _held = ledger.balance(company.pk)
    ledger.grant(company=company, amount=tokens - available, reason="demo")


def _set_prices() -> None:
    for position, (code, tokens, price) in enumerate(PACKAGES):
        values = {"tokens": tokens, "price": Decimal(price), "position": position}
        Package.objects.get_or_create(code=code, defaults=values)
    for tokens, price in STEPS:
        Tariff.objects.get_or_create(
            currency=settings.CURRENCY, tokens_from=tokens, defaults={"price": Decimal(price)}
        )
    # Since before the demo's history begins.
    since = timezone.localdate() - timedelta(days=100)
    Seller.objects.get_or_create(pk=1, defaults=SELLER | {"documents_since": since})


def _order(company: Company, user: User, package: str, gateway: Gateway) -> Order:
    quote = prices.quote_package(package)
    assert quote is not None  # noqa: S101 - put on sale above
    return orders.place(
        company=company, quote=quote, gateway=gateway, actor=orders.Actor(user=user)
    )
