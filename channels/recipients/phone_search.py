"""Finding rows by a phone as a person types it: whole or its beginning, in any spelling."""

import re

import phonenumbers
from django.db.models import Q

from channels.phone_numbers import e164_or_none, with_country_code_seven

_PUNCTUATION = re.compile(r"[ ().\-\u00a0\u2011]")
_DIGITS = re.compile(r"(\+|00)?([0-9]{1,15})", re.ASCII)

MAX_PREFIX_LENGTH = 11  # digits


def whole_number(text: str, country: str) -> str | None:
    """The E.164 number that the text is, read as the API reads it; None for a mere beginning, and
    for a number so short that it may begin a longer one.
    """
    number = e164_or_none(text, country)
    return number if number and len(number) > MAX_PREFIX_LENGTH else None


def matching(text: str, country: str) -> Q | None:
    """A condition on `phone` that an index answers; None for what is no phone.

    Without a plus the same digits may begin an international number or a national one of
    `country`: whatever begins either way is found.
    """
    if number := whole_number(text, country):
        return Q(phone=number)
    typed = _DIGITS.fullmatch(_PUNCTUATION.sub("", text.strip()))
    if typed is None:
        return None
    prefix, digits = typed.groups()
    found = Q()
    for beginning in [digits] if prefix else _prefixes(digits, country):
        found |= Q(phone__gte=f"+{beginning}", phone__lt=f"+{_upper_bound(beginning)}")
    return found


def _prefixes(digits: str, country: str) -> list[str]:
    if (at_home := with_country_code_seven(digits, country)) is not None:
        return [digits, at_home]
    code = phonenumbers.country_code_for_region(country)
    return [digits, f"{code}{digits.lstrip('0')}"] if code else [digits]


def _upper_bound(digits: str) -> str:
    """The first text that no longer begins with these digits."""
    kept = digits.rstrip("9")
    return kept[:-1] + str(int(kept[-1]) + 1) if kept else ":"  # what comes after a 9
