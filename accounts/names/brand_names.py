"""What a brand may be: people read it beside a code that they asked for, and so believe it."""

import re
from unicodedata import category, name, normalize

# The name of a site is the brand of many companies; a path, an account or a telephone is none's.
_ADDRESS = re.compile(r"://|@|[^\W\d_][.。．｡][^\W\d_]+[/?#:]|www\.", re.IGNORECASE)
_TELEPHONE = re.compile(r"\d(?:[\W_]*\d){6,}")
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def is_valid(brand: str) -> bool:
    """Whether it can stand in a message: one line of visible characters that leads nowhere."""
    if any(category(char) in _INVISIBLE for char in brand):
        return False
    plain = "".join(char for char in normalize("NFKC", brand) if category(char) != "Mn")
    if any(_mixes_scripts(word) for word in plain.split() if "." in word):
        return False  # it imitates another site
    return not (_ADDRESS.search(plain) or _TELEPHONE.search(plain))


def _mixes_scripts(word: str) -> bool:
    scripts = {name(char, "UNKNOWN").split()[0] for char in word if char.isalpha()}
    return len(scripts) > 1 and "LATIN" in scripts
