"""Prices of tokens, and how many messages tokens pay for."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from django.conf import settings

from accounts.people.countries import currencies
from billing import message_prices
from billing.models import BillingProfile, Package, Tariff
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


def quote_tokens(tokens: int, currency: str) -> Quote | None:
    """Returns None if that many are not sold in this currency: see `min_tokens`."""
    is_possible = 0 < tokens <= settings.MAX_TOP_UP_TOKENS
    step = Tariff.objects.step_for(tokens, currency) if is_possible else None
    if step is None:
        return None
    amount = step.amount(tokens)
    return Quote(tokens, amount, currency) if amount >= CENT else None


def sold_currencies() -> list[str]:
    """Those that something has a price in; nothing is converted."""
    packages = Package.objects.on_sale().order_by().values_list("currency", flat=True)
    tariffs = Tariff.objects.order_by().values_list("currency", flat=True)
    return sorted(packages.union(tariffs))


def currency_of(profile: BillingProfile) -> str:
    """The company's own, else its country's, else the service's: the first with a price."""
    sold = sold_currencies()
    wanted = (profile.currency, *currencies(profile.of_country), settings.CURRENCY, *sold)
    return next((one for one in wanted if one in sold), str(settings.CURRENCY))


def packages_in(currency: str) -> list[Package]:
    return list(Package.objects.on_sale().filter(currency=currency))


def min_tokens(currency: str) -> int | None:
    """The smallest number of tokens sold outside packages; None if none are."""
    first = Tariff.objects.filter(currency=currency).order_by("tokens_from").first()
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
