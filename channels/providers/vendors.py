"""All vendors: each `Vendor` of a folder's `vendor.py`, one for each channel that it carries."""

import pkgutil
from dataclasses import replace
from importlib import import_module

from channels import providers
from channels.providers.declaration import Vendor

_UNSORTED: list[Vendor] = [
    replace(vendor, folder=folder.name)
    for folder in pkgutil.iter_modules(providers.__path__)
    if folder.ispkg
    for vendor in vars(import_module(f"{providers.__name__}.{folder.name}.vendor")).values()
    if isinstance(vendor, Vendor)
]
VENDORS = {vendor.name: vendor for vendor in sorted(_UNSORTED, key=lambda vendor: vendor.position)}


def vendor_of(provider: str) -> str:
    """The vendor of an account: `twilio` for `twilio:kz`."""
    return provider.partition(":")[0]
