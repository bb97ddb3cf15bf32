"""Masks phones, also those within a text or a URL."""

import re
from collections.abc import Iterator
from urllib.parse import unquote

from parsing.clipboard import PHONE_PUNCTUATION, plain_characters

# What the parser of phones allows between digits, and what forms and file names make of a space.
_BETWEEN = rf"[\s+_{PHONE_PUNCTUATION}]{{0,8}}"
_PHONE = re.compile(rf"\+?[0-9](?:{_BETWEEN}[0-9]){{7,}}")
_PHONE_LIKE = re.compile(rf"[0-9](?:{_BETWEEN}[0-9]){{4,}}")  # which a small country may have
_GROUP = re.compile(r"[0-9]+")
_DAY = re.compile(r"(?:19|20)\d\d([/-])(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])")
_BEGINNING = 5  # characters of a phone that its mask shows
_ROUNDS = 5  # of percent-encoding, one in another


def mask_phone(phone: str) -> str:
    """`+79161234567` → `+7916•••••67`: country, network, and two digits to compare."""
    if phone.endswith("*"):  # anonymised already
        return phone
    return f"{phone[:_BEGINNING]}•••••{phone[-2:]}" if len(phone) > 9 else f"{phone[:3]}•••••"


def mask_beginning(digits: str) -> str:
    """Masks the common beginning of many numbers like the mask of each: more digits would reveal
    what that mask hides.
    """
    return digits[:_BEGINNING] + "•" * len(digits[_BEGINNING:])


def mask_phones_in(text: str) -> str:
    """The text as it is if no phone is in it. What is masked is shown decoded and in plain
    characters: neither percent-encoding nor a mark between digits hides one.
    """
    plain = plain_text(text)
    masked = _PHONE.sub(_mask, plain)
    return text if masked == plain else masked


def digit_groups_in(text: str) -> Iterator[list[str]]:
    """The groups of digits of each place in the text that may be a phone."""
    for match in _PHONE_LIKE.finditer(plain_text(text)):
        yield _GROUP.findall(match[0])


def plain_text(text: str) -> str:
    for _round in range(_ROUNDS):
        if "%" not in text or (plainer := unquote(text)) == text:
            break
        text = plainer
    return plain_characters(text)


def _mask(match: re.Match[str]) -> str:
    return match[0] if _DAY.fullmatch(match[0]) else mask_phone(match[0])
