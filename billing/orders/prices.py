"""Prices of tokens, and how many messages tokens pay for."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from django.conf import settings

from accounts.people.countries import currencies
from billing.models import Package, Tariff
from billing import message_prices
from billing.models.offer import CENT
from config.channels import CHANNELS
from config.texts import StrOrPromise


@dataclass(frozen=True, slots=True)
class Quote:
    tokens: int
    amount: Decimal
    currency: str
    package: Package | None = None


def quote_package(code: str) -> Quote | None:
    """Returns None if no such package is on sale."""
    package = Package.objects.on_sale().filter(code=code).first()
    if package is None:
        return None
    return Quote(package.tokens, package.price, package.currency, package)


def quote_tokens(tokens: int) -> Quote | None:
    """Returns None if that many are not sold: see `min_tokens`."""
    step = Tariff.objects.step_for(tokens) if 0 < tokens <= settings.MAX_TOP_UP_TOKENS else None
    if step is None:
        return None
    amount = step.amount(tokens)
    return Quote(tokens, amount, settings.CURRENCY) if amount >= CENT else None


def packages_for(country: str) -> list[Package]:
    """Packages in the country's currency, else in the service's currency, else all."""
    packages = list(Package.objects.on_sale())
    for currency in (*currencies(country), settings.CURRENCY):
        if matching := [package for package in packages if package.currency == currency]:
            return matching
    return packages


def min_tokens() -> int | None:
    """The smallest number of tokens sold outside packages; None if none are."""
    first = Tariff.objects.order_by("tokens_from").first()
    return first.tokens_from if first else None


def vat_part(amount: Decimal, rate: Decimal | None) -> Decimal | None:
    """The VAT included in an amount; None for a seller who pays none."""
    if rate is None:
        return None
    return (amount * rate / (100 + rate)).quantize(CENT, ROUND_HALF_UP)


def messages_affordable(tokens: int, country: str = "") -> list[tuple[StrOrPromise, int]]:
    """How many messages to a country so many tokens pay for, by each channel."""
    return [
        (channel.title, tokens // message_prices.price_of(channel.name, country))
        for channel in CHANNELS
    ]
