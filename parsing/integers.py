"""Integers from outside: from a query, a form, a file, or JSON.

`int()` raises beyond 4,300 digits, and accepts `1_000`, signs and spaces.
"""

import re

MAX = 2**63 - 1  # of a bigint column
MAX_PAGE_NUMBER = 10_000
_DIGITS = re.compile(r"\d{1,19}")  # of any script; MAX has 19


def parse_integer(text: object, *, minimum: int = 0, maximum: int = MAX) -> int | None:
    """The number of these digits; None for anything else, or outside the bounds."""
    digits = str(text).strip()
    if not _DIGITS.fullmatch(digits):
        return None
    number = int(digits)
    return number if minimum <= number <= maximum else None


def parse_page(text: str) -> int:
    """The number of a page, from 0; anything else is the first page."""
    return min(parse_integer(text) or 0, MAX_PAGE_NUMBER)


def json_integer(value: object) -> int | None:
    """An integer as JSON Schema defines it: `300.0` and `3e2` are integers, `true` is not."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
