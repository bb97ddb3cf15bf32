"""The VAT in a price: its rate by seller, buyer and day.

All buyers pay the same price, with or without tax. An advance has the rate of the day of payment, a
delivery the rate of the last day of its month.
"""

from collections.abc import Mapping
from datetime import date
from decimal import ROUND_HALF_UP, Decimal

from django.db.models import Q
from django.utils.translation import gettext as _

from billing.models import BillingProfile, Seller, VatRegime
from billing.models.offer import CENT
from billing.wallet.period_totals import local_start_of

HOME = "RU"


def vat_part(amount: Decimal, rate: Decimal | None) -> Decimal | None:
    """The VAT included in an amount, or None if `rate` is None: the seller pays none."""
    if rate is None:
        return None
    return (amount * rate / (100 + rate)).quantize(CENT, ROUND_HALF_UP)


def vat_rate(
    seller: Seller | None, buyer: BillingProfile, day: date, *, without_regime: Decimal | None
) -> Decimal | None:
    """The VAT rate in per cent, or None for no VAT.

    `without_regime` is the rate before the seller's first regime.
    """
    if seller is None:
        return None
    if (buyer.effective_country or HOME) != HOME and not seller.charges_vat_abroad:
        return None
    regime = VatRegime.objects.on(day)
    return regime.rate_on(day) if regime else without_regime


def is_paid_with_vat() -> Q:
    """Selects paid orders by the regime of the day of payment, else by their own rate.

    Excludes orders placed without VAT from abroad, wherever the buyer is now.
    """
    regimes = list(VatRegime.objects.order_by("since"))
    if not regimes:
        return Q(vat_rate__gt=0)
    condition = Q(vat_rate__gt=0, paid_at__lt=local_start_of(regimes[0].since))
    for regime, following in zip(regimes, [*regimes[1:], None], strict=True):
        if regime.rate_on(regime.since):
            period = Q(paid_at__gte=local_start_of(regime.since))
            condition |= (
                period & Q(paid_at__lt=local_start_of(following.since)) if following else period
            )
    country = "parties__buyer__country"
    was_here = Q((f"{country}__isnull", True)) | Q((f"{country}__in", ["", HOME]))
    return condition & (Q(vat_rate__isnull=False) | was_here)


def reverse_charge_note(buyer: Mapping[str, str], *, has_vat: bool) -> str:
    """The reverse-charge note on the invoice or act of a buyer in the EU; empty for other buyers.

    `buyer` has the fields that `invoices.buyer` returns.
    """
    if has_vat or not buyer.get("vat_id"):
        return ""
    return _(
        "Reverse charge: VAT is to be accounted for by the recipient, Article 196 of Council "
        "Directive 2006/112/EC. VAT ID of the recipient: %(vat_id)s."
    ) % {"vat_id": buyer["vat_id"]}
