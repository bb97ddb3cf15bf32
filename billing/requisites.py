"""Russian requisites, judged by their shape and control digits."""

import re

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _

KPP = RegexValidator(r"^\d{4}[\dA-Z]{2}\d{3}$", _("A KPP has nine characters."))
BIC = RegexValidator(r"^\d{9}$", _("A BIC has nine digits."))
ACCOUNT = RegexValidator(r"^\d{20}$", _("An account number has twenty digits."))

_TENTH = (2, 4, 10, 3, 5, 9, 4, 6, 8)
_ELEVENTH = (7, *_TENTH)
_TWELFTH = (3, *_ELEVENTH)


def is_inn(text: str) -> bool:
    """10 digits of an organisation or 12 of a person, by the control digits of the tax office."""
    if re.fullmatch(r"[0-9]{10}", text):
        return _control(text, _TENTH)
    if re.fullmatch(r"[0-9]{12}", text):
        return _control(text, _ELEVENTH) and _control(text, _TWELFTH)
    return False


def _control(text: str, weights: tuple[int, ...]) -> bool:
    total = sum(weight * int(digit) for weight, digit in zip(weights, text, strict=False))
    return total % 11 % 10 == int(text[len(weights)])


def INN(text: str) -> None:  # noqa: N802 - a validator, named as its neighbours
    if not is_inn(text):
        raise ValidationError(_("This is not an INN: check the digits."), code="inn")
