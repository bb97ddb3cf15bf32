"""Searches rows by a whole phone, its beginning or its last digits, typed in any format."""

import re

import phonenumbers
from django.db.models import Q

from channels.phone_numbers import e164_or_none, with_country_code_seven
from config.input import clipboard

_PUNCTUATION = re.compile(r"[ ()\[\]./\-]")
_DIGITS = re.compile(r"(\+|00)?([0-9]{1,15})", re.ASCII)

SHORTEST_ENDING = 4  # fewer digits end too many numbers
MAX_PREFIX_LENGTH = 11  # with its plus; a longer number cannot begin another one


def whole_number(text: str, country: str) -> str | None:
    """The E.164 number in the text, read as the API reads it.

    None for a prefix, and for a number so short that it may be the prefix of a longer one.
    """
    number = e164_or_none(text, country)
    return number if number and len(number) > MAX_PREFIX_LENGTH else None


def matching(text: str, country: str) -> Q | None:
    """A condition on `phone` that an index can serve; None if the text is no phone.

    Without a plus the digits may begin an international number or a national one of `country`:
    both match.
    """
    if number := whole_number(text, country):
        return Q(phone=number)
    typed = _DIGITS.fullmatch(_PUNCTUATION.sub("", clipboard.plain(text)))
    if typed is None:
        return None
    prefix, digits = typed.groups()
    condition = Q()
    for start in [digits] if prefix else _prefixes(digits, country):
        condition |= Q(phone__gte=f"+{start}", phone__lt=f"+{_upper_bound(start)}")
    return condition


def part_of_number(text: str, country: str) -> Q | None:
    """A condition on a `phone` that begins or ends so; None for a whole number, and for a text that
    is no phone or says too little. No index serves it: search a bounded part of the rows.
    """
    if whole_number(text, country):
        return None
    condition = matching(text, country)
    typed = _PUNCTUATION.sub("", clipboard.plain(text))
    if condition is None or typed.startswith("+") or len(typed) < SHORTEST_ENDING:
        return condition
    return condition | Q(phone__endswith=typed)


def _prefixes(digits: str, country: str) -> list[str]:
    if (national := with_country_code_seven(digits, country)) is not None:
        return [digits, national]
    code = phonenumbers.country_code_for_region(country)
    return [digits, f"{code}{digits.lstrip('0')}"] if code else [digits]


def _upper_bound(digits: str) -> str:
    """The first string after all that begin with these digits."""
    stem = digits.rstrip("9")
    return stem[:-1] + str(int(stem[-1]) + 1) if stem else ":"  # the character after 9
