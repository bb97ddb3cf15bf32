"""Accounts with vendors and payment providers from the environment, and enabled payment gateways.

A vendor's account without a token is not configured.

`TWILIO_…` configures a vendor's first account. `TWILIO_ACCOUNTS=kz,uz` names additional ones with
their own variables: `TWILIO_KZ_…`, `TWILIO_UZ_…`.
"""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from billing.gateways.declarations import GATEWAYS, DeclaredGateway
from catalogue.account_options import variable
from channels.providers.declaration import ACCOUNT_NAME, Vendor
from channels.providers.vendors import VENDORS
from config.environment import addresses
from config.environment.variables import env, listed

Options = dict[str, Any]


def accounts() -> dict[str, Options]:
    """The options of every account by its name: `twilio`, `twilio:kz`."""
    return {
        ":".join(filter(None, (vendor.name, account))): _options(vendor, account)
        for vendor in VENDORS.values()
        for account in ("", *_further_accounts(vendor))
    }


def _further_accounts(vendor: Vendor) -> list[str]:
    if not vendor.has_further_accounts:
        return []
    listing = f"{vendor.prefix}_ACCOUNTS"
    names = listed(listing)
    if wrong := [name for name in names if not ACCOUNT_NAME.fullmatch(name)]:
        raise ImproperlyConfigured(
            f"{listing}: {wrong[0]!r} must be 1 to 12 lower-case letters and digits, a letter first"
        )
    if len(set(names)) < len(names):
        raise ImproperlyConfigured(f"{listing} names an account twice")
    return names


def _options(vendor: Vendor, account: str) -> Options:
    names = {option.name: vendor.variable(option.name, account) for option in vendor.options}
    required = names[vendor.required]
    if vendor.split is None:
        texts = {option: env.str(name, "") for option, name in names.items()}
    else:
        texts = _split(vendor.split, required)
        names = {option: f"{required}: {option}" for option in names}
    options = {
        option.name: option.value(texts.get(option.name, ""), names[option.name])
        for option in vendor.options
    }
    if problem := vendor.check(options):
        raise ImproperlyConfigured(f"{required} {problem}")
    if not vendor.url:
        return options
    accounts = (f"{vendor.name}:{account}", vendor.name)
    url = addresses.first_of(addresses.VENDOR_URLS, *accounts) or vendor.url
    return options | {"api_url": url, "proxy": addresses.proxy(*accounts)}


def _split(split: Callable[[str], dict[str, str]], name: str) -> dict[str, str]:
    text = env.str(name, "")
    try:
        return split(text) if text else {}
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} {error}") from None


def enabled_gateways(*, is_production: bool) -> list[str]:
    """The names in PAYMENT_GATEWAYS.

    Raises ImproperlyConfigured for an unknown name, and for a gateway that lacks a variable.
    """
    names = listed("PAYMENT_GATEWAYS", "invoice" if is_production else "invoice,sandbox")
    if unknown := set(names) - GATEWAYS.keys():
        raise ImproperlyConfigured(
            f"PAYMENT_GATEWAYS: no such gateway: {', '.join(sorted(unknown))}"
        )
    for gateway in map(GATEWAYS.__getitem__, names):
        for option in gateway.options:
            name = variable(gateway.prefix, option)
            if option.is_required and not env.str(name, ""):
                raise ImproperlyConfigured(f"PAYMENT_GATEWAYS: {gateway.name} needs {name}")
    return names


def gateway_accounts() -> dict[str, Options]:
    """The options of every payment gateway by its name, with the URL of its API."""
    return {name: _gateway_options(gateway) for name, gateway in GATEWAYS.items()}


def _gateway_options(gateway: DeclaredGateway) -> Options:
    names = [(option, variable(gateway.prefix, option)) for option in gateway.options]
    options = {option.name: option.value(env.str(name, ""), name) for option, name in names}
    if problem := gateway.check(options):
        raise ImproperlyConfigured(problem)
    url = addresses.VENDOR_URLS.get(gateway.name, gateway.url)
    return options | ({"url": url} if url else {})
