"""Accounts with vendors from the environment; one without a token is not configured.

`TWILIO_…` is a vendor's first account. `TWILIO_ACCOUNTS=kz,uz` names further ones, each with its
own variables: `TWILIO_KZ_…`, `TWILIO_UZ_…`.
"""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from channels.providers.declaration import ACCOUNT_NAME, Vendor
from channels.providers.vendors import VENDORS
from config.environment import addresses
from config.environment.variables import env

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
    variable = f"{vendor.prefix}_ACCOUNTS"
    names = [name for part in env.str(variable, "").split(",") if (name := part.strip())]
    if wrong := [name for name in names if not ACCOUNT_NAME.fullmatch(name)]:
        raise ImproperlyConfigured(
            f"{variable}: {wrong[0]!r} must be 1 to 12 lower-case letters and digits, "
            "a letter first"
        )
    if len(set(names)) < len(names):
        raise ImproperlyConfigured(f"{variable} names an account twice")
    return names


def _options(vendor: Vendor, account: str) -> Options:
    names = {option.name: vendor.variable(option.name, account) for option in vendor.options}
    variable = names[vendor.required]
    if vendor.split is None:
        texts = {option: env.str(name, "") for option, name in names.items()}
    else:
        texts = _split(vendor.split, variable)
        names = {option: f"{variable}: {option}" for option in names}
    options = {
        item.name: item.value(texts.get(item.name, ""), names[item.name]) for item in vendor.options
    }
    if problem := vendor.check(options):
        raise ImproperlyConfigured(f"{variable} {problem}")
    if not vendor.url:
        return options
    accounts = (f"{vendor.name}:{account}", vendor.name)
    url = addresses.first_of(addresses.VENDOR_URLS, *accounts) or vendor.url
    return options | {"api_url": url, "proxy": addresses.proxy(*accounts)}


def _split(split: Callable[[str], dict[str, str]], variable: str) -> dict[str, str]:
    text = env.str(variable, "")
    try:
        return split(text) if text else {}
    except ValueError as error:
        raise ImproperlyConfigured(f"{variable} {error}") from None
