"""Normalises phones to E.164, so that a code sent to one spelling verifies under any other.

A number has the same form here whether it comes from a client, a vendor or a shared contact.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache, lru_cache
from urllib.parse import unquote

import phonenumbers
from django.utils.translation import gettext_lazy as _
from phonenumbers import PhoneNumber, PhoneNumberFormat, PhoneNumberType, ValidationResult

from catalogue.errors import DomainError, Error
from catalogue.texts import StrOrPromise
from parsing import clipboard, plain_numbers, renumbering

_ALLOWED = re.compile(rf"[ (\[]*\+?[0-9{clipboard.PHONE_PUNCTUATION}]{{5,60}}", re.ASCII)
_PUNCTUATION = re.compile(r"[^0-9+]")
_SCHEME = re.compile(r"(?:tel|sms|smsto|callto|whatsapp):/{0,2}", re.IGNORECASE)  # RFC 3966, 5724
# The text before or around a number in a signature, a list, or one of our tables, where an
# apostrophe keeps the number from being a formula.
_LABEL = re.compile(
    r"\A(?:tel|phone|mob|mobile|тел|телефон|моб)(?:\.:?|:) ?(?=[+(0-9])", re.IGNORECASE
)
_AROUND = " '`\"<>«»“”„‘’,;"
_CONTEXT = re.compile(r";phone-context=(\+[0-9.()\-]+)", re.IGNORECASE)
# A switchboard's extension, as written by RFC 3966 or people; messages go to the number before it.
_EXTENSION = re.compile(
    r"[ ,;]*(?:ext(?:ension|n)?|x|доб(?:авочный)?|вн|#)[. :=]*#?[0-9]{1,7}$", re.IGNORECASE
)
# A form adds the country code to a number that already has it.
_CODE_TWICE = re.compile(r"\A\+([0-9]{1,3}) ?(?=\+\1)")
# A spreadsheet or a data frame read the phone as a number: its 0 would be a digit of another
# person's phone in countries with numbers of varying length.
_FRACTION = re.compile(r"(?<=[0-9]{7})\.0+$")
ARGENTINA = 54
ITALY = 39  # the country code, which the Vatican shares
_ITALIAN_MOBILE = re.compile(r"3[0-9]{9}")  # also of ranges that the library may lack
PREMIUM = {PhoneNumberType.PREMIUM_RATE, PhoneNumberType.SHARED_COST}
SATELLITE = (870, 881, 882, 883, 878, 979)  # country codes of satellite and global networks
# Prefixes of a ten-digit number in the +7 plan, typed without the leading 8.
MOBILE_PREFIXES_OF_SEVEN = {"RU": ("9",), "KZ": ("9", "70", "74", "77")}
# No country code is 0 or 89: both are dialled, 89 in Russia before a mobile.
_DIALLED = re.compile(r"^0(?:0|11)")
_EIGHT_OF_RUSSIA = re.compile(r"^8(?=9[0-9]{9}$)")

MIN_DIGITS_WITHOUT_PLUS = 11  # of a possible but invalid number
MAX_LENGTH = 16  # a plus and the fifteen digits of E.164; some plans allow more

NOT_A_PHONE = _("Specify the number with a plus and its country code, for example +79161234567")
SATELLITE_OR_PREMIUM = _("Sending to satellite and premium numbers is not allowed")


class LineType(StrEnum):
    """The type of a number's line, named as by most vendors; made from `PhoneNumberType`."""

    MOBILE = "mobile"
    LANDLINE = "landline"
    # where both have the same ranges, as in the USA
    FIXED_OR_MOBILE = "fixed_or_mobile"
    VOIP = "voip"
    TOLL_FREE = "toll_free"
    PERSONAL = "personal"
    PAGER = "pager"
    UAN = "uan"  # one number for a whole company
    VOICEMAIL = "voicemail"
    UNKNOWN = "unknown"


_LINE_TYPES = {
    PhoneNumberType.MOBILE: LineType.MOBILE,
    # those of which `is_landline` is not certain
    PhoneNumberType.FIXED_LINE: LineType.FIXED_OR_MOBILE,
    PhoneNumberType.FIXED_LINE_OR_MOBILE: LineType.FIXED_OR_MOBILE,
    PhoneNumberType.VOIP: LineType.VOIP,
    PhoneNumberType.TOLL_FREE: LineType.TOLL_FREE,
    PhoneNumberType.PERSONAL_NUMBER: LineType.PERSONAL,
    PhoneNumberType.PAGER: LineType.PAGER,
    PhoneNumberType.UAN: LineType.UAN,
    PhoneNumberType.VOICEMAIL: LineType.VOICEMAIL,
}


@lru_cache(maxsize=20_000)
def normalise(phone: str, country: str) -> str:
    """E.164 with its plus; raises `invalid_phone`. `country` is the company's (ISO 3166).

    After a plus or 00 a number need only be *possible*: numbering plans change faster than the
    library's metadata. For a number without either, see `_read_without_plus`.
    """
    if plain_numbers.region_of(phone):
        return phone
    bare = digits_of(phone)
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
    return e164  # canonical digits, not the typed ones: +44 (0)20… and +44 20… are one number


def digits_of(text: str) -> str:
    """The digits of a number as people and clipboards write it, with its plus if it has one.

    Empty for anything else.
    """
    if len(text) > clipboard.MAX_LENGTH:  # the cache of numbers does not keep it either
        return ""
    text = clipboard.plain(text).strip(_AROUND)
    if scheme := _SCHEME.match(text):
        text, _semicolon, parameters = unquote(text[scheme.end() :]).partition(";")
        context = _CONTEXT.search(f";{parameters}")
        text = f"{context[1]}{text}" if context and "+" not in text else text
    else:
        text = _EXTENSION.sub("", _LABEL.sub("", text))
    text = _CODE_TWICE.sub("", _FRACTION.sub("", text))
    return _PUNCTUATION.sub("", text) if _ALLOWED.fullmatch(text) else ""


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
    # 001 and ZZ belong to no country.
    return next((code for code in (region, main) if code.isalpha() and code != "ZZ"), "")


@lru_cache(maxsize=20_000)
def spellings(phone: str) -> tuple[str, ...]:
    """The E.164 number, then its spellings in older rows and in vendors' responses."""
    return (phone, *renumbering.old_spellings(phone))


@lru_cache(maxsize=20_000)
def is_landline(phone: str) -> bool:
    """Whether an E.164 number is certainly a landline.

    It is never certain where mobiles share the ranges, which the library may not know yet, nor in
    Argentina, where people leave out the 9.
    """
    if plain_numbers.region_of(phone):
        return False
    number = _parsed(phone)
    if number is None or phonenumbers.number_type(number) != PhoneNumberType.FIXED_LINE:
        return False
    return number.country_code != ARGENTINA and not _shares_ranges(country_of(phone))


def line_type(phone: str) -> LineType:
    """The type of an E.164 number's range, which a ported number keeps."""
    if is_landline(phone):
        return LineType.LANDLINE
    number = _parsed(phone)
    kind = phonenumbers.number_type(number) if number is not None else PhoneNumberType.UNKNOWN
    return _LINE_TYPES.get(kind, LineType.UNKNOWN)


@cache
def _shares_ranges(country: str) -> bool:
    mobile = phonenumbers.example_number_for_type(country, PhoneNumberType.MOBILE)
    return (
        mobile is not None
        and phonenumbers.number_type(mobile) == PhoneNumberType.FIXED_LINE_OR_MOBILE
    )


def _read(bare: str, country: str) -> PhoneNumber | None:
    if not bare:
        return None
    if bare.startswith("+"):
        return _parsed("+" + _EIGHT_OF_RUSSIA.sub("7", _DIALLED.sub("", bare[1:])))
    if bare.startswith("00"):
        international = _parsed(f"+{bare[2:]}")
        if international is not None and _is_possible(international):
            return international
    return _read_without_plus(bare, country)


def with_country_code_seven(digits: str, country: str) -> str | None:
    """National digits of Russia or Kazakhstan, whole or a prefix, with the 7 in front.

    None for other digits. People there write 8 916 123-45-67, or omit the 8.
    """
    if country not in MOBILE_PREFIXES_OF_SEVEN:
        return None
    if digits.startswith("8"):
        return "7" + digits[1:]
    if len(digits) <= 10 and digits.startswith(MOBILE_PREFIXES_OF_SEVEN[country]):
        return "7" + digits
    return digits if digits.startswith("7") else None


def _read_without_plus(digits: str, country: str) -> PhoneNumber | None:
    """Reads a number without a plus; None if no reading is valid or possible.

    The readings are tried in this order: a national number of the +7 plan, a valid international
    number, a valid national number of the country, and a possible international number that is
    long enough. So ten digits that begin with 9 are a Russian mobile rather than an Indian number.
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
    number = _parse(text, country)
    if number is None:
        return None
    readings = map(_parse, _other_spellings(number, is_international=country is None))
    return next((n for n in readings if n and phonenumbers.is_valid_number(n)), number)


def _parse(text: str, country: str | None = None) -> PhoneNumber | None:
    try:
        return phonenumbers.parse(text, country)
    except phonenumbers.NumberParseException:
        return None


def _other_spellings(number: PhoneNumber, *, is_international: bool) -> Iterator[str]:
    """Other readings of the same line; the first valid reading is the number."""
    if new := renumbering.new_spelling(_e164(number)):
        yield new
    if phonenumbers.is_valid_number(number) or not is_international:
        return
    code = number.country_code
    national = phonenumbers.national_significant_number(number)
    if national.startswith(str(code)):  # see _CODE_TWICE
        yield f"+{national}"
    if national.startswith("0"):  # dialled at home, in countries whose numbers have no such prefix
        yield f"+{code}{national.lstrip('0')}"
    elif code == ARGENTINA:  # the 9 from abroad and the 15 from home
        yield f"+{code}{national.removeprefix('9')}"
    elif code == ITALY and not _ITALIAN_MOBILE.fullmatch(national):
        # Numbers of fixed lines have included the 0 since 1998.
        yield f"+{code}0{national}"


def _is_possible(number: PhoneNumber) -> bool:
    reason = phonenumbers.is_possible_number_with_reason(number)
    return bool(reason == ValidationResult.IS_POSSIBLE)


def _e164(number: PhoneNumber) -> str:
    return phonenumbers.format_number(number, PhoneNumberFormat.E164)


def _refusal(text: StrOrPromise) -> DomainError:
    return DomainError(Error.INVALID_PHONE, errors={"phone": [text]})
