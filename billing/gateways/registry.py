"""Builds the payment gateways that the settings enable."""

from functools import cache

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from billing.gateways.bank_invoice import Invoice
from billing.gateways.base import Gateway
from billing.gateways.sandbox import Sandbox
from billing.models import Seller
from config.texts import StrOrPromise

TITLES: dict[str, StrOrPromise] = {
    Invoice.name: _("Bank invoice"),
    Sandbox.name: _("Demo payment"),
}


def find(name: str) -> Gateway | None:
    """Returns the gateway, or None if the settings do not enable it."""
    return _build(name) if name in settings.PAYMENT_GATEWAYS else None


def available() -> list[Gateway]:
    """Enabled gateways; the invoice needs a seller's requisites as well."""
    gateways = [_build(name) for name in settings.PAYMENT_GATEWAYS]
    has_seller = any(gateway.has_invoice for gateway in gateways) and Seller.objects.exists()
    return [gateway for gateway in gateways if has_seller or not gateway.has_invoice]


def title(name: str) -> str:
    return str(TITLES.get(name, name))


@cache
def _build(name: str) -> Gateway:
    match name:
        case Invoice.name:
            return Invoice(public_url=settings.PUBLIC_URL)
        case Sandbox.name:
            return Sandbox(public_url=settings.PUBLIC_URL, secret=settings.SECRET_KEY)
    raise LookupError(name)  # the settings reject such a name at start


def forget_settings() -> None:
    _build.cache_clear()
