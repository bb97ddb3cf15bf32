"""Normalises phones to E.164, so that a code sent to one spelling verifies under any other."""

import re
from functools import lru_cache

import phonenumbers
from django.utils.translation import gettext_lazy as _
from phonenumbers import PhoneNumber, PhoneNumberFormat, PhoneNumberType, ValidationResult

from channels import plain_numbers
from config.errors import DomainError, Error
from config.texts import StrOrPromise

_ALLOWED = re.compile(r"\+?[0-9 ().\-\u00a0\u2011]{5,40}", re.ASCII)
_PUNCTUATION = re.compile(r"[^0-9+]")
PREMIUM = {PhoneNumberType.PREMIUM_RATE, PhoneNumberType.SHARED_COST}
SATELLITE = (870, 881, 882, 883, 878, 979)  # country codes of satellite and global networks
# Prefixes of a ten-digit number in the +7 plan, typed without the leading 8.
MOBILE_PREFIXES_OF_SEVEN = {"RU": ("9",), "KZ": ("9", "70", "74", "77")}
MIN_DIGITS_WITHOUT_PLUS = 11  # of a number that is possible but not valid
MAX_LENGTH = 16  # a plus and the fifteen digits of E.164; some plans allow more

NOT_A_PHONE = _("Specify the number with a plus and its country code, for example +79161234567")
SATELLITE_OR_PREMIUM = _("Sending to satellite and premium numbers is not allowed")


@lru_cache(maxsize=20_000)
def normalise(phone: str, country: str) -> str:
    """E.164 with its plus; raises `invalid_phone`. `country` is the company's (ISO 3166).

    After a plus or 00 a number need only be *possible*: numbering plans change faster than the
    library's metadata. Without one, see `_read_without_plus`.
    """
    if plain_numbers.region_of(phone):
        return phone
    text = phone.strip()
    if not _ALLOWED.fullmatch(text):
        raise _refusal(NOT_A_PHONE)
    bare = _PUNCTUATION.sub("", text)
    number = _read(bare, country)
    if number is None or not _is_possible(number):
        raise _refusal(NOT_A_PHONE)
    e164 = _e164(number)
    if len(e164) > MAX_LENGTH:
        raise _refusal(NOT_A_PHONE)
    if e164[1:] != bare.removeprefix("+") and _parsed(e164) != number:
        raise _refusal(NOT_A_PHONE)  # leading zeros, of which each parse drops one
    if number.country_code in SATELLITE or phonenumbers.number_type(number) in PREMIUM:
        raise _refusal(SATELLITE_OR_PREMIUM)
    return e164  # not the digits as typed: +44 (0)20… and +44 20… are one number


def e164_or_none(phone: str, country: str) -> str | None:
    try:
        return normalise(phone, country)
    except DomainError:
        return None


@lru_cache(maxsize=20_000)
def country_of(phone: str) -> str:
    """The ISO 3166 code of an E.164 number's country.

    The main country of the calling code if the library does not know the number; empty if the code
    belongs to no country.
    """
    if plain := plain_numbers.region_of(phone):
        return plain
    number = _parsed(phone)
    if number is None:
        return ""
    region = phonenumbers.region_code_for_number(number) or ""
    main = phonenumbers.region_code_for_country_code(number.country_code or 0)
    countries = (
        code for code in (region, main) if code.isalpha() and code != "ZZ"
    )  # 001: no country
    return next(countries, "")


def _read(bare: str, country: str) -> PhoneNumber | None:
    if bare.startswith("+"):
        return _parsed(bare)
    if bare.startswith("00"):
        return _parsed(f"+{bare[2:]}")
    return _read_without_plus(bare, country)


def with_country_code_seven(digits: str, country: str) -> str | None:
    """National digits of Russia or Kazakhstan, whole or a prefix, with the 7 in front; else None.

    People there write 8 916 123-45-67, or omit the 8.
    """
    if country not in MOBILE_PREFIXES_OF_SEVEN:
        return None
    if digits.startswith("8"):
        return "7" + digits[1:]
    if len(digits) <= 10 and digits.startswith(MOBILE_PREFIXES_OF_SEVEN[country]):
        return "7" + digits
    return digits if digits.startswith("7") else None


def _read_without_plus(digits: str, country: str) -> PhoneNumber | None:
    """Tries a national number of the +7 plan, a valid international number, a valid national number
    of the country, and last a possible international number that is long enough.

    So ten digits that begin with 9 are a Russian mobile rather than an Indian number.
    """
    national_seven = with_country_code_seven(digits, country)
    if national_seven is not None and len(national_seven) == 11:
        return _parsed(f"+{national_seven}")
    international = _parsed(f"+{digits}")
    if international is not None and phonenumbers.is_valid_number(international):
        return international
    national = _parsed(digits, country) if country else None
    if national is not None and phonenumbers.is_valid_number(national):
        return national
    return international if len(digits) >= MIN_DIGITS_WITHOUT_PLUS else None


@lru_cache(maxsize=1000)  # a send reads its phone twice
def _parsed(text: str, country: str | None = None) -> PhoneNumber | None:
    try:
        return phonenumbers.parse(text, country)
    except phonenumbers.NumberParseException:
        return None


def _is_possible(number: PhoneNumber) -> bool:
    reason = phonenumbers.is_possible_number_with_reason(number)
    return bool(reason == ValidationResult.IS_POSSIBLE)


def _e164(number: PhoneNumber) -> str:
    return phonenumbers.format_number(number, PhoneNumberFormat.E164)


def _refusal(words: StrOrPromise) -> DomainError:
    return DomainError(Error.INVALID_PHONE, errors={"phone": [words]})
