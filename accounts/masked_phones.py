"""Masks phones, including those within a text or a URL."""

import re
from collections.abc import Iterator
from urllib.parse import unquote

from parsing.clipboard import PHONE_PUNCTUATION, plain_characters

# Characters that the phone parser allows between digits, and that forms and file names use for a
# space.
_SEPARATORS = rf"[\s+_{PHONE_PUNCTUATION}]{{0,8}}"
_PHONE = re.compile(rf"\+?[0-9](?:{_SEPARATORS}[0-9]){{7,}}")
_PHONE_LIKE = re.compile(rf"[0-9](?:{_SEPARATORS}[0-9]){{4,}}")  # as short as some national numbers
_GROUP = re.compile(r"[0-9]+")
_DAY = re.compile(r"(?:19|20)\d\d([/-])(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])")
_SHOWN_PREFIX = 5  # characters of a phone that its mask shows
_MAX_DECODINGS = 5  # layers of percent-encoding


def mask_phone(phone: str) -> str:
    """`+79161234567` → `+7916•••••67`: country, network, and two digits to compare."""
    if phone.endswith("*"):  # anonymised already
        return phone
    return f"{phone[:_SHOWN_PREFIX]}•••••{phone[-2:]}" if len(phone) > 9 else f"{phone[:3]}•••••"


def mask_prefix(digits: str) -> str:
    """Masks the common prefix of many numbers as `mask_phone` masks each: more digits would reveal
    what it hides.
    """
    return digits[:_SHOWN_PREFIX] + "•" * len(digits[_SHOWN_PREFIX:])


def mask_phones_in(text: str) -> str:
    """Masks the phones in a text; a text without phones is returned unchanged. A masked text is
    decoded and in plain characters, so that neither percent-encoding nor a mark between digits
    hides a phone.
    """
    plain = plain_text(text)
    masked = _PHONE.sub(_mask, plain)
    return text if masked == plain else masked


def digit_groups_in(text: str) -> Iterator[list[str]]:
    """The digit groups of each possible phone in the text."""
    for match in _PHONE_LIKE.finditer(plain_text(text)):
        yield _GROUP.findall(match[0])


def plain_text(text: str) -> str:
    for _round in range(_MAX_DECODINGS):
        if "%" not in text or (plainer := unquote(text)) == text:
            break
        text = plainer
    return plain_characters(text)


def _mask(match: re.Match[str]) -> str:
    return match[0] if _DAY.fullmatch(match[0]) else mask_phone(match[0])
