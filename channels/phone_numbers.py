"""The one normaliser of phones: what can be sent to in one spelling can be verified in any."""

import re
from functools import lru_cache

import phonenumbers
from phonenumbers import PhoneNumber, PhoneNumberFormat, PhoneNumberType, ValidationResult

from config.errors import DomainError, Error, Words

_ALLOWED = re.compile(r"\+?[0-9 ().\-\u00a0\u2011]{5,40}", re.ASCII)
_PUNCTUATION = re.compile(r"[^0-9+]")
PREMIUM = {PhoneNumberType.PREMIUM_RATE, PhoneNumberType.SHARED_COST}
SATELLITE = (870, 881, 882, 883, 878, 979)  # country codes of satellite and global networks
# How ten digits of a number in the +7 plan begin, as people there type it without the 8.
MOBILE_PREFIXES_OF_SEVEN = {"RU": ("9",), "KZ": ("9", "70", "74", "77")}
MIN_DIGITS_WITHOUT_PLUS = 11  # digits of a number that is merely possible, not valid
MAX_LENGTH = 16  # a plus and the fifteen digits of E.164; some plans claim more

NOT_A_PHONE: Words = (
    "Укажите номер с плюсом и кодом страны, например +79161234567",
    "Give the number with a plus and its country code, +79161234567 for example",
)
SATELLITE_OR_PREMIUM: Words = (
    "На спутниковые и платные номера отправка не разрешена",
    "Sending to satellite and premium numbers is not allowed",
)


@lru_cache(maxsize=20_000)
def normalise(phone: str, country: str) -> str:
    """E.164 with its plus; raises `invalid_phone`. `country` is the company's (ISO 3166).

    After a plus or 00 a number need only be *possible*: numbering plans change faster than the
    library's metadata. Without one, `_read_without_plus` says how the digits are read.
    """
    text = phone.strip()
    if not _ALLOWED.fullmatch(text):
        raise _refusal(NOT_A_PHONE)
    bare = _PUNCTUATION.sub("", text)
    number = _read(bare, country)
    if number is None or not _is_possible(number):
        raise _refusal(NOT_A_PHONE)
    normal = _e164(number)
    if len(normal) > MAX_LENGTH:
        raise _refusal(NOT_A_PHONE)
    if normal[1:] != bare.removeprefix("+") and _parsed(normal) != number:
        raise _refusal(NOT_A_PHONE)  # a row of zeros, which would lose one at each reading
    if number.country_code in SATELLITE or phonenumbers.number_type(number) in PREMIUM:
        raise _refusal(SATELLITE_OR_PREMIUM)
    return normal  # not the digits as typed: +44 (0)20… and +44 20… are one number


def e164_or_none(phone: str, country: str) -> str | None:
    try:
        return normalise(phone, country)
    except DomainError:
        return None


@lru_cache(maxsize=20_000)
def country_of(phone: str) -> str:
    """ISO 3166 code of an E.164 number's country: of its calling code's main country when today's
    plan does not know the number; empty when no country owns the code.
    """
    number = phonenumbers.parse(phone)
    found = phonenumbers.region_code_for_number(number) or ""
    main = phonenumbers.region_code_for_country_code(number.country_code or 0)
    countries = (one for one in (found, main) if one.isalpha() and one != "ZZ")  # 001: nobody's
    return next(countries, "")


def _read(bare: str, country: str) -> PhoneNumber | None:
    if bare.startswith("+"):
        return _parsed(bare)
    if bare.startswith("00"):
        return _parsed(f"+{bare[2:]}")
    return _read_without_plus(bare, country)


def with_country_code_seven(digits: str, country: str) -> str | None:
    """National digits of Russia or Kazakhstan, or the first few of them, with the 7 in front; None
    when they are none. People there write 8 916 123-45-67, or leave the 8 out.
    """
    if country not in MOBILE_PREFIXES_OF_SEVEN:
        return None
    if digits.startswith("8"):
        return "7" + digits[1:]
    if len(digits) <= 10 and digits.startswith(MOBILE_PREFIXES_OF_SEVEN[country]):
        return "7" + digits
    return digits if digits.startswith("7") else None


def _read_without_plus(digits: str, country: str) -> PhoneNumber | None:
    """As the +7 plan writes numbers at home; else a valid international number, else a valid
    national one of the country, else a possible international one that is long enough.

    Ten digits that begin with 9 are a mobile in Russia before they are a number in India.
    """
    at_home = with_country_code_seven(digits, country)
    if at_home is not None and len(at_home) == 11:
        return _parsed(f"+{at_home}")
    international = _parsed(f"+{digits}")
    if international is not None and phonenumbers.is_valid_number(international):
        return international
    national = _parsed(digits, country) if country else None
    if national is not None and phonenumbers.is_valid_number(national):
        return national
    return international if len(digits) >= MIN_DIGITS_WITHOUT_PLUS else None


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


def _refusal(words: Words) -> DomainError:
    return DomainError(Error.INVALID_PHONE, errors={"phone": [words]})
