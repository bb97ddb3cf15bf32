"""Billing details of an invoice's parties: what each country requires, and control digits."""

import re

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from stdnum.by import unp
from stdnum.eu import vat
from stdnum.exceptions import ValidationError as NumberError
from stdnum.ru import inn as russian

# Not `\d`, which matches digits of any script, nor `$`, which matches before a line end. All zeros
# identify nobody, whatever their control digit.
_NOT_ALL_ZEROS = r"\A(?!0+\Z)"
# A tax office, a reason and a serial number, none of them zero.
KPP = RegexValidator(
    r"\A(?!00)[0-9]{4}(?!00)[0-9A-Z]{2}(?!000)[0-9]{3}\Z", _("A KPP has nine characters.")
)
BIC = RegexValidator(_NOT_ALL_ZEROS + r"[0-9]{9}\Z", _("A BIC has nine digits."))
ACCOUNT = RegexValidator(_NOT_ALL_ZEROS + r"[0-9]{20}\Z", _("An account number has twenty digits."))

TAX_NUMBERS: dict[str, Promise] = {"RU": _("INN"), "KZ": _("BIN or IIN"), "BY": _("UNP")}

# Northern Ireland is among the library's members only for goods.
EU = frozenset(code.upper() for code in vat.MEMBER_STATES - {"xi"})
VAT_PREFIXES = {"GR": "EL"}  # others are the country's code

# Organisations: year and month, kind, division. Persons: date of birth, century and sex.
_KAZAKH = re.compile(r"[0-9]{2}(0[1-9]|1[0-2])([456][0-3]|(0[1-9]|[12][0-9]|3[01])[0-6])[0-9]{5,6}")

_BIN_WEIGHTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
_BIN_WEIGHTS_FOR_TEN = (3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2)


def _names_somebody(number: str) -> bool:
    """Whether a tax number of any country can identify somebody."""
    return number.isascii() and number.isprintable() and bool(set(number) & set("123456789"))


def is_inn(text: str) -> bool:
    """Whether this is a bare INN: 10 digits of an organisation, or 12 of a person.

    Region and control digits are checked.
    """
    return text == russian.compact(text) and not text.startswith("00") and russian.is_valid(text)


def is_bin(text: str) -> bool:
    """Whether this is Kazakhstan's BIN of an organisation or IIN of a person, 12 digits."""
    if not (len(text) == 12 and _KAZAKH.fullmatch(text)):
        return False
    rest = _weighted_sum(text, _BIN_WEIGHTS) % 11
    if rest == 10:
        rest = _weighted_sum(text, _BIN_WEIGHTS_FOR_TEN) % 11
    return rest == int(text[11])


def _weighted_sum(text: str, weights: tuple[int, ...]) -> int:
    return sum(weight * int(digit) for weight, digit in zip(weights, text, strict=False))


def is_unp(text: str) -> bool:
    """Whether this is a bare UNP of Belarus: the library also accepts one after its name."""
    return text == unp.compact(text) and unp.is_valid(text)


def validate_inn(text: str) -> None:
    if not is_inn(text):
        raise ValidationError(_("This is not an INN: check the digits."), code="inn")


CHECKS = {
    "RU": (is_inn, _("This is not an INN: check the digits.")),
    "KZ": (is_bin, _("This is not a BIN or an IIN: check the twelve digits.")),
    "BY": (is_unp, _("This is not a UNP: check the nine characters.")),
}


def vat_id(country: str, number: str) -> str:
    """The number in the form of VIES, such as DE136695976; empty unless valid in this EU country.

    `number` may lack the country. Only format and control digits are checked: VIES is not asked
    whether it is registered.
    """
    if country not in EU or not number or not _names_somebody(number):
        return ""
    prefix = VAT_PREFIXES.get(country, country)
    for text in (number, f"{prefix}{number}"):
        try:
            vat_number = str(vat.compact(vat.validate(text)))
        except NumberError:
            continue
        if vat_number[:2] == country:  # the library uses either code for Greece
            vat_number = f"{prefix}{vat_number[2:]}"
        if vat_number.startswith(prefix):
            return vat_number
    return ""


def tax_number_name(country: str) -> Promise:
    return TAX_NUMBERS.get(country, _("VAT ID") if country in EU else _("Tax number"))


def format_errors(*, country: str, inn: str, kpp: str) -> dict[str, Promise]:
    """Errors of the fields that are filled in, by field."""
    errors: dict[str, Promise] = {}
    if inn and not _names_somebody(inn):
        return {"inn": _("Latin letters and digits, and not only zeros.")}
    if inn and country in CHECKS:
        is_valid, message = CHECKS[country]
        if not is_valid(inn):
            errors["inn"] = message
    if inn and country in EU and not vat_id(country, inn):
        errors["inn"] = _("This is not a VAT ID of the country: check the digits.")
    if country == "RU" and kpp and len(inn) == 12:
        errors["kpp"] = _("A person has no KPP: only an INN of ten digits has one.")
    return errors


def missing_fields(*, country: str, legal_name: str, inn: str, kpp: str) -> dict[str, Promise]:
    """Errors of the fields that an invoice to this buyer lacks, by field."""
    errors: dict[str, Promise] = {}
    if not country:
        errors["country"] = _("Choose the country: it appears on the invoice.")
    if not legal_name:
        errors["legal_name"] = _("An invoice needs a legal name.")
    if country == "RU" and not inn:
        errors["inn"] = _("An invoice in Russia needs the buyer's INN.")
    if country == "RU" and len(inn) == 10 and not kpp:
        errors["kpp"] = _("An organisation's invoice needs its KPP.")
    return errors
