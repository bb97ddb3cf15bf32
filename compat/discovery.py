"""The dialects: the folders beside this module that have a `dialect.py` and a `urls.py`."""

from functools import cache
from importlib import import_module
from pathlib import Path

from django.urls.resolvers import URLPattern

from compat.dialect import Dialect


@cache
def dialects() -> dict[str, Dialect]:
    """By name, in the order of their names."""
    names = sorted(path.parent.name for path in Path(__file__).parent.glob("*/dialect.py"))
    return {name: import_module(f"compat.{name}.dialect").DIALECT for name in names}


def routes(dialect: Dialect) -> list[URLPattern]:
    """Its paths, below `/compat/<name>/`."""
    patterns: list[URLPattern] = import_module(f"compat.{dialect.name}.urls").urlpatterns
    return patterns


def of_path(path: str) -> Dialect | None:
    """The dialect of a request's path, also of one that it does not know."""
    _root, first, *rest = [*path.split("/", 3), "", ""]
    return dialects().get(rest[0]) if first == "compat" else None
