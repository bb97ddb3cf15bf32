"""The language that words a message: the nearest to the tag that was asked for.

A message stores the tag. Where no language of ours is near to it, the company's is used, which the
message then keeps in its `params`: a company may change it before the message goes out.
"""

from collections.abc import Mapping
from typing import Any

from catalogue import languages


def stored(tag: str, company: str) -> dict[str, str]:
    """What a new message keeps in its `params`."""
    return {} if languages.has_match(tag) else {"language": languages.match(tag, company)}


def language_of(tag: str, params: Mapping[str, Any]) -> str:
    """The language of an accepted message."""
    return languages.match(tag, params.get("language", ""))
