"""Validates brand names: recipients trust them, since they stand beside a requested code."""

import re
from unicodedata import name

from config.input.characters import as_seen, is_line

# A domain is the brand of many companies; a URL path, an account or a phone number is not.
_ADDRESS = re.compile(r"://|@|[^\W\d_][.。．｡][^\W\d_]+[/?#:]|www\.", re.IGNORECASE)
_TELEPHONE = re.compile(r"\d(?:[\W_]*\d){6,}")


def is_valid(brand: str) -> bool:
    """Whether it is one line of visible characters without a link, account or phone number."""
    if not is_line(brand):
        return False
    plain = as_seen(brand)
    if any(_mixes_scripts(word) for word in plain.split() if "." in word):
        return False  # it imitates another site
    return not (_ADDRESS.search(plain) or _TELEPHONE.search(plain))


def _mixes_scripts(word: str) -> bool:
    scripts = {name(char, "UNKNOWN").split()[0] for char in word if char.isalpha()}
    return len(scripts) > 1 and "LATIN" in scripts
