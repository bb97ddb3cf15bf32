"""The kinds of identity servers, a module each: `KIND` in it is all that is known of one."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from identity_hooks.kind import Kind


@cache
def kinds() -> dict[str, Kind]:
    """By name, in the order in which the cabinet offers them."""
    modules = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    declared = [module.KIND for module in modules if hasattr(module, "KIND")]
    declared.sort(key=lambda kind: (kind.has_mapping, str(kind.title).lower()))
    return {kind.name: kind for kind in declared}
