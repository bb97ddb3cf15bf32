"""The one normaliser of phones: what can be sent to in one spelling can be verified in any."""

import re
from functools import lru_cache

import phonenumbers
from phonenumbers import PhoneNumberFormat, PhoneNumberType, ValidationResult

from config.errors import DomainError, Error, Words

_ALLOWED = re.compile(r"\+?[0-9 ().\-\u00a0\u2011]{5,40}", re.ASCII)
_PUNCTUATION = re.compile(r"[^0-9+]")
PREMIUM = {PhoneNumberType.PREMIUM_RATE, PhoneNumberType.SHARED_COST}
SATELLITE = (870, 881, 882, 883, 878, 979)  # country codes of satellite and global networks
EIGHT_MEANS_SEVEN = {"RU", "KZ"}
LONGEST = 16  # a plus and the fifteen digits of E.164; some plans claim more

NOT_A_PHONE: Words = (
    "Укажите номер в международном формате, например +79161234567",
    "Give the number in international format, +79161234567 for example",
)
COSTLY: Words = (
    "На спутниковые и платные номера отправка не разрешена",
    "Sending to satellite and premium numbers is not allowed",
)


@lru_cache(maxsize=20_000)
def normalise(phone: str, country: str) -> str:
    """E.164 with its plus; raises `invalid_phone`.

    Digits without a plus are international. Eleven digits that begin with 8, with no plus or 00
    before them, are +7 to a company in Russia or Kazakhstan. A number must be *possible*; one
    that is not *valid* by today's plan is accepted, as plans change faster than metadata.
    """
    digits = _digits(phone, country)
    try:
        number = phonenumbers.parse("+" + digits)
    except phonenumbers.NumberParseException:
        raise _refusal(NOT_A_PHONE) from None
    if phonenumbers.is_possible_number_with_reason(number) != ValidationResult.IS_POSSIBLE:
        raise _refusal(NOT_A_PHONE)
    normal = phonenumbers.format_number(number, PhoneNumberFormat.E164)
    if len(normal) > LONGEST:
        raise _refusal(NOT_A_PHONE)
    if normal != "+" + digits and phonenumbers.parse(normal) != number:
        raise _refusal(NOT_A_PHONE)  # a row of zeros, which would lose one at each reading
    if number.country_code in SATELLITE or phonenumbers.number_type(number) in PREMIUM:
        raise _refusal(COSTLY)
    return normal  # not the digits as typed: +44 (0)20… and +44 20… are one number


@lru_cache(maxsize=20_000)
def country_of(phone: str) -> str:
    """ISO 3166 code of an E.164 number's country: of its calling code's main country when today's
    plan does not know the number; empty when no country owns the code.
    """
    number = phonenumbers.parse(phone)
    found = phonenumbers.region_code_for_number(number)
    main = phonenumbers.region_code_for_country_code(number.country_code or 0)
    return found or (main if main.isalpha() and main != "ZZ" else "")


def _digits(phone: str, country: str) -> str:
    text = phone.strip()
    if not _ALLOWED.fullmatch(text):
        raise _refusal(NOT_A_PHONE)
    bare = _PUNCTUATION.sub("", text)
    if bare.startswith("+"):
        return bare[1:]
    if bare.startswith("00"):
        return bare[2:]
    if country in EIGHT_MEANS_SEVEN and len(bare) == 11 and bare.startswith("8"):
        return "7" + bare[1:]
    return bare


def _refusal(words: Words) -> DomainError:
    return DomainError(Error.INVALID_PHONE, errors={"phone": [words]})
