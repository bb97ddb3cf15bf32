"""The ways to pay, and the accounts with payment providers."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured

from billing.gateways.declaration import DeclaredGateway
from billing.gateways.gateways import GATEWAYS
from catalogue.options import variable
from config.environment import addresses
from config.environment.variables import env


def enabled(default: list[str]) -> list[str]:
    """The names in PAYMENT_GATEWAYS; without what one of them needs the service does not start."""
    names: list[str] = env.list("PAYMENT_GATEWAYS", default)
    if unknown := set(names) - GATEWAYS.keys():
        listed = ", ".join(sorted(unknown))
        raise ImproperlyConfigured(f"PAYMENT_GATEWAYS: no such gateway: {listed}")
    for gateway in map(GATEWAYS.__getitem__, names):
        for option in gateway.options:
            name = variable(gateway.prefix, option)
            if option.is_required and not env.str(name, ""):
                raise ImproperlyConfigured(f"PAYMENT_GATEWAYS: {gateway.name} needs {name}")
    return names


def accounts() -> dict[str, dict[str, Any]]:
    """The options of every gateway by its name, with the address of its API."""
    return {name: _account(gateway) for name, gateway in GATEWAYS.items()}


def _account(gateway: DeclaredGateway) -> dict[str, Any]:
    names = [(option, variable(gateway.prefix, option)) for option in gateway.options]
    options = {option.name: option.value(env.str(name, ""), name) for option, name in names}
    if problem := gateway.check(options):
        raise ImproperlyConfigured(problem)
    url = addresses.VENDOR_URLS.get(gateway.name, gateway.url)
    return options | ({"url": url} if url else {})
