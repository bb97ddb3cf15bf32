"""Validates brand names: recipients trust them, since they stand beside a requested code."""

import re
from unicodedata import category, name, normalize

# A domain is the brand of many companies; a URL path, an account or a phone number is not.
_ADDRESS = re.compile(r"://|@|[^\W\d_][.。．｡][^\W\d_]+[/?#:]|www\.", re.IGNORECASE)
_TELEPHONE = re.compile(r"\d(?:[\W_]*\d){6,}")
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def is_valid(brand: str) -> bool:
    """Whether it is one line of visible characters without a link, account or phone number."""
    if any(category(char) in _INVISIBLE for char in brand):
        return False
    plain = "".join(char for char in normalize("NFKC", brand) if category(char) != "Mn")
    if any(_mixes_scripts(word) for word in plain.split() if "." in word):
        return False  # it imitates another site
    return not (_ADDRESS.search(plain) or _TELEPHONE.search(plain))


def _mixes_scripts(word: str) -> bool:
    scripts = {name(char, "UNKNOWN").split()[0] for char in word if char.isalpha()}
    return len(scripts) > 1 and "LATIN" in scripts
