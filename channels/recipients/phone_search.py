"""Searches rows by a phone, its prefix or its last digits, in any format, or by its country."""

import re
from functools import cache

import phonenumbers
from django.db.models import Q
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, PhoneMetadata, country_code_for_region

from channels.phone_numbers import e164_or_none, with_country_code_seven
from parsing import clipboard

_PUNCTUATION = re.compile(r"[ ()\[\]./\-]")
_DIGITS = re.compile(r"(\+|00)?([0-9]{1,15})", re.ASCII)

MIN_ENDING_LENGTH = 4  # fewer digits match the end of too many numbers
MAX_PREFIX_LENGTH = 11  # including the plus; a longer number cannot be a prefix

KINDS = (
    "fixed_line",
    "mobile",
    "toll_free",
    "premium_rate",
    "shared_cost",
    "personal_number",
    "voip",
    "pager",
    "uan",
    "voicemail",
)


def whole_number(text: str, country: str) -> str | None:
    """The E.164 number in the text, read as the API reads it.

    Returns None for a prefix, and for a number so short that it may be the prefix of a longer one.
    """
    number = e164_or_none(text, country)
    return number if number and len(number) > MAX_PREFIX_LENGTH else None


def matching(text: str, country: str) -> Q | None:
    """A condition on `phone` that an index can serve; None if the text is not a phone.

    Without a plus the digits may begin an international number or a national number of `country`:
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
    """A condition on phones that begin or, from MIN_ENDING_LENGTH digits on, end with the text.

    None for a whole number, and for a text that is no part of a phone. No index serves it: search a
    bounded part of the rows.
    """
    if whole_number(text, country):
        return None
    condition = matching(text, country)
    typed = _PUNCTUATION.sub("", clipboard.plain(text))
    if condition is None or typed.startswith("+") or len(typed) < MIN_ENDING_LENGTH:
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


def phones_of(country: str) -> Q:
    """A condition on phones of a country, as in `phone_numbers.country_of`.

    The main country of a calling code has all numbers that belong to no other country.
    """
    code = country_code_for_region(country)
    regions = COUNTRY_CODE_TO_REGION_CODE.get(code, ())
    if country not in regions:
        return Q(pk__in=[])
    with_code = Q(phone__startswith=f"+{code}")
    if country != regions[0]:
        return with_code & _belongs_to(code, country)
    for other in regions[1:]:
        with_code &= ~_belongs_to(code, other)
    return with_code


@cache
def _belongs_to(code: int, region: str) -> Q:
    metadata = PhoneMetadata.metadata_for_region(region, None)
    if metadata is None:
        return Q(pk__in=[])
    if metadata.leading_digits:
        return Q(phone__regex=rf"^\+{code}(?:{metadata.leading_digits})")
    kinds = (getattr(metadata, kind) for kind in KINDS)
    numbers = [kind.national_number_pattern for kind in kinds if kind]
    patterns = "|".join(number for number in numbers if number)
    return Q(phone__regex=rf"^\+{code}(?:{patterns})$") if patterns else Q(pk__in=[])
