"""The one normaliser of phones: what can be sent to in one spelling can be verified in any."""

import re
from functools import lru_cache

import phonenumbers
from phonenumbers import PhoneNumberType, ValidationResult

from config.errors import DomainError, Error, Words

_ALLOWED = re.compile(r"\+?[0-9 ().\-\u00a0\u2011]{5,40}", re.ASCII)
_PUNCTUATION = re.compile(r"[^0-9+]")
PREMIUM = {PhoneNumberType.PREMIUM_RATE, PhoneNumberType.SHARED_COST}
SATELLITE = (870, 881, 882, 883, 878, 979)  # country codes of satellite and global networks
EIGHT_MEANS_SEVEN = {"RU", "KZ"}

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

    Digits without a plus are international. Eleven digits that begin with 8 are +7 to a company
    in Russia or Kazakhstan. A number must be *possible*; one that is not *valid* by today's
    numbering plan is accepted, as plans change faster than metadata.
    """
    digits = _digits(phone)
    if country in EIGHT_MEANS_SEVEN and len(digits) == 11 and digits.startswith("8"):
        digits = "7" + digits[1:]
    try:
        number = phonenumbers.parse("+" + digits)
    except phonenumbers.NumberParseException:
        raise _refusal(NOT_A_PHONE) from None
    if phonenumbers.is_possible_number_with_reason(number) != ValidationResult.IS_POSSIBLE:
        raise _refusal(NOT_A_PHONE)
    if number.country_code in SATELLITE or phonenumbers.number_type(number) in PREMIUM:
        raise _refusal(COSTLY)
    return "+" + digits


@lru_cache(maxsize=20_000)
def country_of(phone: str) -> str:
    """ISO 3166 code of an E.164 number's country; empty when no country owns the range."""
    return phonenumbers.region_code_for_number(phonenumbers.parse(phone)) or ""


def _digits(phone: str) -> str:
    text = phone.strip()
    if not _ALLOWED.fullmatch(text):
        raise _refusal(NOT_A_PHONE)
    bare = _PUNCTUATION.sub("", text)
    digits = bare.removeprefix("+")
    if not bare.startswith("+"):
        digits = digits.removeprefix("00")
    return digits


def _refusal(words: Words) -> DomainError:
    return DomainError(Error.INVALID_PHONE, errors={"phone": [words]})
