"""Every vendor: each folder here with a `vendor.py`."""

from dataclasses import replace

from catalogue.options import discover
from channels import providers
from channels.providers.declaration import Vendor

_FOUND: list[Vendor] = [
    replace(module.VENDOR, folder=folder)
    for folder, module in discover(providers, "vendor").items()
]
VENDORS = {vendor.name: vendor for vendor in sorted(_FOUND, key=lambda vendor: vendor.position)}


def vendor_of(provider: str) -> str:
    """The vendor of an account: `twilio` for `twilio:kz`."""
    return provider.partition(":")[0]
