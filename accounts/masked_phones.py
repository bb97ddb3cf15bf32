"""Masks phones, also those that stand within a text or a URL."""

import re
from urllib.parse import unquote

# Eight digits at least, as people and forms write them: `+7 (916) 123-45-67`, `7+916+1234567`.
_PHONE = re.compile(r"\+?\d(?:[\s()+.\-_\u2010-\u2015]{0,3}\d){7,}")
_BEGINNING = 5  # characters of a phone that its mask shows
_ROUNDS = 5  # of percent-encoding, one in another


def mask_phone(phone: str) -> str:
    """`+79161234567` → `+7916•••••67`: country, network, and two digits to compare."""
    if phone.endswith("*"):  # anonymised already
        return phone
    return f"{phone[:_BEGINNING]}•••••{phone[-2:]}" if len(phone) > 9 else f"{phone[:3]}•••••"


def mask_beginning(digits: str) -> str:
    """What many numbers begin with, as far as the mask of each shows it: the rest would fill in
    what is hidden there.
    """
    return digits[:_BEGINNING] + "•" * len(digits[_BEGINNING:])


def mask_phones_in(text: str) -> str:
    """The text as it is if no phone is in it. What is masked is shown decoded: percent-encoding
    hides no digit.
    """
    decoded = _decoded(text)
    masked = _PHONE.sub(lambda found: mask_phone(found[0]), decoded)
    return text if masked == decoded else masked


def _decoded(text: str) -> str:
    for _round in range(_ROUNDS):
        if "%" not in text or (plainer := unquote(text)) == text:
            break
        text = plainer
    return text
