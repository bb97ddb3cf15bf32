"""Remembers what a request header means, so that a repeated header costs one dictionary look-up."""

from collections.abc import Callable
from typing import TypeVar

MAX_ENTRIES, MAX_HEADER_LENGTH = 20_000, 512

T = TypeVar("T")


def cached(cache: dict[str, T], header: str, parse: Callable[[str], T]) -> T:
    value = cache.get(header)
    if value is None:
        value = parse(header)
        if len(cache) >= MAX_ENTRIES:
            cache.clear()
        if len(header) <= MAX_HEADER_LENGTH:
            cache[header] = value
    return value
