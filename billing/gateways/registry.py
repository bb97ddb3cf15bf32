"""Builds the payment gateways that the settings enable."""

from functools import cache

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from billing.gateways.bank_invoice import Invoice
from billing.gateways.base import Gateway
from billing.gateways.http import pool_by
from billing.gateways.sandbox import Sandbox
from billing.gateways.stripe import Stripe
from billing.gateways.tbank import TBank
from billing.gateways.yookassa import YooKassa
from billing.models import Seller
from config.texts import StrOrPromise

TITLES: dict[str, StrOrPromise] = {
    Invoice.name: _("Bank invoice"),
    Sandbox.name: _("Demo payment"),
    Stripe.name: _("Card (Stripe)"),
    YooKassa.name: _("Card or SBP (YooKassa)"),
    TBank.name: _("SBP for companies (T-Bank)"),
}


def find(name: str) -> Gateway | None:
    """Returns the gateway, or None if the settings do not enable it."""
    return _build(name) if name in settings.PAYMENT_GATEWAYS else None


def available(currency: str = "") -> list[Gateway]:
    """Enabled gateways that take this currency; the invoice needs a seller's requisites as well."""
    gateways = [_build(name) for name in settings.PAYMENT_GATEWAYS]
    has_seller = any(gateway.has_invoice for gateway in gateways) and Seller.objects.exists()
    return [
        gateway
        for gateway in gateways
        if (has_seller or not gateway.has_invoice) and (not currency or gateway.takes(currency))
    ]


def askable() -> list[str]:
    return [name for name in settings.PAYMENT_GATEWAYS if _build(name).can_be_asked]


def title(name: str) -> str:
    return str(TITLES.get(name, name))


@cache
def _build(name: str) -> Gateway:
    match name:
        case Invoice.name:
            return Invoice(public_url=settings.PUBLIC_URL)
        case Sandbox.name:
            return Sandbox(public_url=settings.PUBLIC_URL, secret=settings.SECRET_KEY)
        case Stripe.name:
            return Stripe(
                url=settings.STRIPE_URL,
                secret_key=settings.STRIPE_SECRET_KEY,
                webhook_secret=settings.STRIPE_WEBHOOK_SECRET,
                pool=pool_by(settings.PAYMENT_PROXY),
            )
        case YooKassa.name:
            return YooKassa(
                url=settings.YOOKASSA_URL,
                shop_id=settings.YOOKASSA_SHOP_ID,
                secret_key=settings.YOOKASSA_SECRET_KEY,
                networks=settings.YOOKASSA_NETWORKS,
                has_receipts=settings.YOOKASSA_RECEIPTS,
                pool=pool_by(settings.PAYMENT_PROXY),
            )
        case TBank.name:
            return TBank(
                url=settings.TBANK_URL,
                token=settings.TBANK_TOKEN,
                account=settings.TBANK_ACCOUNT,
                webhook_secret=settings.TBANK_WEBHOOK_SECRET,
                pool=pool_by(settings.PAYMENT_PROXY),
            )
    raise LookupError(name)  # the settings reject such a name at start


def forget_settings() -> None:
    _build.cache_clear()
