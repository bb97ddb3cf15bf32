"""Prices of tokens, how many messages tokens pay for, and the VAT in a price.

A price is the same for everybody: the tax is a part of it, or there is none. An advance has the
rate of the day of payment, a delivery that of the last day of its month.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal

from django.conf import settings
from django.db.models import Q
from django.utils.translation import gettext as _

from accounts.people.countries import currencies
from billing import message_prices
from billing.models import BillingProfile, Order, Package, Seller, Tariff, VatRegime
from billing.models.offer import CENT
from billing.wallet.period_totals import start_of
from catalogue.channels import CHANNELS
from catalogue.texts import StrOrPromise


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
    """The currencies that have a price; nothing is converted."""
    packages = Package.objects.on_sale().order_by().values_list("currency", flat=True)
    tariffs = Tariff.objects.order_by().values_list("currency", flat=True)
    return sorted(packages.union(tariffs))


def currency_of(profile: BillingProfile) -> str:
    """The company's own, else its country's, else the service's: the first with a price."""
    sold = sold_currencies()
    wanted = (profile.currency, *currencies(profile.effective_country), settings.CURRENCY, *sold)
    return next((code for code in wanted if code in sold), str(settings.CURRENCY))


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
    """How many messages to a country the tokens pay for, by channel."""
    return [
        (channel.title, tokens // message_prices.price_of(channel.name, country))
        for channel in CHANNELS
    ]


HOME = "RU"


def vat_rate(
    seller: Seller | None, buyer: BillingProfile, day: date, *, without_regime: Decimal | None
) -> Decimal | None:
    """Percent; None: no VAT. `without_regime`: of a day before the seller's first regime."""
    if seller is None:
        return None
    if (buyer.effective_country or HOME) != HOME and not seller.charges_vat_abroad:
        return None
    regime = VatRegime.objects.on(day)
    return regime.rate_on(day) if regime else without_regime


def is_paid_with_vat() -> Q:
    """Chooses paid orders by the regime of the day of payment, else by their own rate."""
    regimes = list(VatRegime.objects.order_by("since"))
    if not regimes:
        return Q(vat_rate__gt=0)
    chosen = Q(vat_rate__gt=0, paid_at__lt=start_of(regimes[0].since))
    for regime, following in zip(regimes, [*regimes[1:], None], strict=True):
        if regime.rate_on(regime.since):
            period = Q(paid_at__gte=start_of(regime.since))
            chosen |= period & Q(paid_at__lt=start_of(following.since)) if following else period
    return chosen


def reverse_charge_note(buyer: Mapping[str, str], *, has_vat: bool) -> str:
    """For the invoice or act of a buyer in the EU, as `invoices.buyer` describes it."""
    if has_vat or not buyer.get("vat_id"):
        return ""
    return _(
        "Reverse charge: VAT is to be accounted for by the recipient, Article 196 of Council "
        "Directive 2006/112/EC. VAT ID of the recipient: %(vat_id)s."
    ) % {"vat_id": buyer["vat_id"]}


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """The price of one token in a currency; of an order, so it may have many digits."""

    amount: Decimal
    currency: str

    def of(self, tokens: int) -> Decimal:
        """To the hundredth."""
        return (self.amount * tokens).quantize(Decimal("0.01"), ROUND_HALF_UP)


def last_paid_price(company_id: int) -> TokenPrice | None:
    """By the newest order that was paid; None for a company that has not paid yet."""
    paid = Order.objects.of(company_id).filter(state=Order.State.PAID)
    newest = paid.order_by("-created_at", "-id").only("tokens", "amount", "currency").first()
    return TokenPrice(newest.amount / newest.tokens, newest.currency) if newest else None
