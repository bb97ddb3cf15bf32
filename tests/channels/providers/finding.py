"""Every provider: all subclasses of `Provider`, and those in the registry."""

import importlib
import inspect
import pkgutil
from typing import Any

from channels import providers
from channels.providers.base import Provider
from channels.providers.http import HttpProvider
from channels.providers.vendors import VENDORS
from channels.vendor_accounts import registry

# Not reached over HTTP, so each has tests of its own kind: PDUs of a real message centre, and the
# scripts of test keys.
OTHERWISE_TESTED = {"smpp", "test"}
PACKAGE = f"{providers.__name__}."


def provider_classes() -> set[type[Provider]]:
    """The providers: a module or package in `channels/providers` is enough to be found."""
    for module in pkgutil.walk_packages(providers.__path__, PACKAGE):
        importlib.import_module(module.name)
    registered = {registry.provider_class(one) for one in VENDORS.values()}
    root: Any = Provider  # abstract, which mypy lets no variable of this type be
    found = {one for one in _below(root) if one.__module__.startswith(PACKAGE)} | registered
    return {one for one in found if not inspect.isabstract(one)}


def _below(parent: type[Provider]) -> set[type[Provider]]:
    children = set(parent.__subclasses__())
    return children.union(*(_below(child) for child in children))


def http_providers() -> set[str]:
    """The names under which the contract runs; one without a name of its own has its class's."""
    return {
        name_of(one)
        for one in provider_classes()
        if issubclass(one, HttpProvider) or name_of(one) not in OTHERWISE_TESTED
    }


def name_of(provider: type[Provider]) -> str:
    """Its own: an inherited one would hide it behind its parent."""
    own = vars(provider).get("name")
    return own if isinstance(own, str) else provider.__qualname__
