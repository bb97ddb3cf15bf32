"""The kinds of identity servers: a module each, those that only have a mapping in `mapped`."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from identity_hooks.kind import Kind


@cache
def kinds() -> dict[str, Kind]:
    """The kinds by name, in the order of the cabinet's list."""
    modules = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    values = (value for module in modules for value in vars(module).values())
    declared = [value for value in values if isinstance(value, Kind)]
    declared.sort(key=lambda kind: (kind.has_mapping, str(kind.title).lower()))
    return {kind.name: kind for kind in declared}
