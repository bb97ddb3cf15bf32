"""JSON of a row for people: a line for each value, under its path."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.html import format_html_join
from django.utils.safestring import SafeString

EMPTY = "—"


def in_lines(value: Any) -> SafeString | str:
    """`buyer · inn: 7800000002`; empty values are left out."""
    rows = [(" · ".join(path), text) for path, text in _leaves(value, ())]
    return format_html_join("", "<div>{}: {}</div>", rows) or EMPTY


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, (*path, str(name)))
    elif isinstance(value, list):
        for number, inner in enumerate(value, start=1):
            yield from _leaves(inner, (*path, str(number)))
    elif value not in (None, ""):
        yield path, str(value)
