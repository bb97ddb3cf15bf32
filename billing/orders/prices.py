"""Prices of tokens, and the number of messages that tokens pay for."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from django.conf import settings

from accounts.people.countries import currencies
from billing import message_prices
from billing.gateways.base import MAX_AMOUNT
from billing.models import BillingProfile, Order, Package, Tariff
from billing.models.offer import CENT
from catalogue.channels import CHANNELS
from catalogue.texts import StrOrPromise


@dataclass(frozen=True, slots=True)
class Quote:
    tokens: int
    amount: Decimal
    currency: str
    package: Package | None = None


def quote_package(code: str) -> Quote | None:
    """The quote for a package; None if no such package is on sale."""
    package = Package.objects.on_sale().filter(code=code).first()
    if package is None:
        return None
    return Quote(package.tokens, package.price, package.currency, package)


def quote_tokens(tokens: int, currency: str) -> Quote | None:
    """The quote for a number of tokens; None if it is not sold in this currency (`min_tokens`)."""
    is_possible = 0 < tokens <= settings.MAX_TOP_UP_TOKENS
    step = Tariff.objects.step_for(tokens, currency) if is_possible else None
    if step is None:
        return None
    amount = step.amount(tokens)
    return Quote(tokens, amount, currency) if CENT <= amount < MAX_AMOUNT else None


def sold_currencies() -> list[str]:
    """The currencies with a price; nothing is converted."""
    packages = Package.objects.on_sale().order_by().values_list("currency", flat=True)
    tariffs = Tariff.objects.order_by().values_list("currency", flat=True)
    return sorted(packages.union(tariffs))


def currency_of(profile: BillingProfile) -> str:
    """The first currency with a price among the company's own, its country's and the service's."""
    sold = sold_currencies()
    choices = (
        profile.currency,
        *currencies(profile.effective_country),
        settings.CURRENCY,
        *sold,
    )
    return next((code for code in choices if code in sold), str(settings.CURRENCY))


def packages_in(currency: str) -> list[Package]:
    return list(Package.objects.on_sale().filter(currency=currency))


def min_tokens(currency: str) -> int | None:
    """The smallest number of tokens sold outside packages; None if only packages are sold."""
    first = Tariff.objects.filter(currency=currency).order_by("tokens_from").first()
    return first.tokens_from if first else None


def messages_affordable(tokens: int, country: str = "") -> list[tuple[StrOrPromise, int]]:
    """The number of messages to a country that the tokens pay for, by channel."""
    return [
        (channel.title, tokens // message_prices.price_of(channel.name, country))
        for channel in CHANNELS
    ]


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """The price of one token in a currency; an order's price may have many digits."""

    amount: Decimal
    currency: str

    def of(self, tokens: int) -> Decimal:
        """The price of these tokens, to the hundredth."""
        return (self.amount * tokens).quantize(Decimal("0.01"), ROUND_HALF_UP)


def last_paid_price(company_id: int) -> TokenPrice | None:
    """The price of the newest paid order; None if the company has not paid yet."""
    paid = Order.objects.for_company(company_id).filter(state=Order.State.PAID)
    newest = paid.order_by("-created_at", "-id").only("tokens", "amount", "currency").first()
    return TokenPrice(newest.amount / newest.tokens, newest.currency) if newest else None
