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
    registered = {registry.provider_class(vendor) for vendor in VENDORS.values()}
    root: Any = Provider  # abstract, which mypy lets no variable of this type be
    result = {
        class_ for class_ in _below(root) if class_.__module__.startswith(PACKAGE)
    } | registered
    return {class_ for class_ in result if not inspect.isabstract(class_)}


def _below(parent: type[Provider]) -> set[type[Provider]]:
    children = set(parent.__subclasses__())
    return children.union(*(_below(child) for child in children))


def http_providers() -> set[str]:
    """The names under which the contract runs; one without a name of its own has its class's."""
    return {
        name_of(class_)
        for class_ in provider_classes()
        if issubclass(class_, HttpProvider) or name_of(class_) not in OTHERWISE_TESTED
    }


def name_of(provider: type[Provider]) -> str:
    """Returns the provider's own name: an inherited one would hide it behind its parent."""
    own = vars(provider).get("name")
    return own if isinstance(own, str) else provider.__qualname__
