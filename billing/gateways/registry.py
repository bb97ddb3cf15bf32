"""Builds the payment gateways that the settings enable."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import cast

from django.conf import settings

from billing.gateways.base import Gateway
from billing.gateways.declarations import GATEWAYS
from billing.models import Seller
from catalogue.texts import StrOrPromise


def find(name: str) -> Gateway | None:
    """Returns the gateway, or None if the settings do not enable it."""
    return _build(name) if name in settings.PAYMENT_GATEWAYS else None


def available(currency: str = "") -> list[Gateway]:
    """Enabled gateways that take this currency; the invoice needs a seller as well."""
    gateways = [_build(name) for name in settings.PAYMENT_GATEWAYS]
    has_seller = any(gateway.has_invoice for gateway in gateways) and Seller.objects.exists()
    return [
        gateway
        for gateway in gateways
        if (has_seller or not gateway.has_invoice) and (not currency or gateway.takes(currency))
    ]


def pollable() -> list[str]:
    return [name for name in settings.PAYMENT_GATEWAYS if _build(name).is_pollable]


def title(name: str) -> str:
    return str(GATEWAYS[name].title) if name in GATEWAYS else name


def payer_note(name: str) -> StrOrPromise:
    """The note for the payer about this way to pay."""
    return GATEWAYS[name].note


@cache
def _build(name: str) -> Gateway:
    module = import_module(f"billing.gateways.{name}")
    make = cast(Callable[..., Gateway], getattr(module, GATEWAYS[name].class_name))
    if not GATEWAYS[name].url:  # our own
        return make(public_url=settings.PUBLIC_URL)
    return make(**settings.GATEWAY_ACCOUNTS[name])


def forget_settings() -> None:
    _build.cache_clear()
