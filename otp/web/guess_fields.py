"""The fields of a guess: its digits, and the verification it is for."""

import re
from typing import NamedTuple
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal
from api.request_fields import RequestFields
from catalogue.errors import invalid_input
from catalogue.ids import parse_id
from channels import phone_numbers
from channels.web.fields import DEFAULT_PURPOSE, PHONE
from otp.check.check import find_phone
from otp.feedback import is_custom_code
from otp.web.calls import (
    A_CODE,
    PURPOSE,
    VERIFIED_ID,
    VERIFIED_PHONE,
)

GENERATED_CODE = re.compile(r"[0-9]{4,8}")
PHONE_OR_ID = _("Give phone, or id")
NOT_OF_ID = _("Not that of the verification in id: leave it out")


class GuessTarget(NamedTuple):
    """The verification that a guess is for, by phone and purpose or by id."""

    phone: str
    purpose: str
    id: UUID | None = None


def parse_target(fields: RequestFields, principal: Principal) -> GuessTarget:
    """The verification that the fields name.

    Raises a DomainError that names the invalid fields, including those read before.
    """
    text = fields.text(VERIFIED_ID)
    phone = fields.text(VERIFIED_PHONE)
    purpose = fields.text(PURPOSE)
    if not (text or phone or fields.errors.keys() & {PHONE.name, VERIFIED_ID.name}):
        fields.add_error(PHONE, PHONE_OR_ID)
    fields.check()
    number = phone_numbers.normalise(phone, principal.country) if phone else ""
    verification_id = parse_id("otp", text or "")
    if verification_id is None:
        return GuessTarget(number, purpose or DEFAULT_PURPOSE)
    target = GuessTarget(*find_phone(principal, verification_id), verification_id)
    if number and number != target.phone:
        fields.add_error(PHONE, NOT_OF_ID)
    if purpose and purpose != target.purpose:
        fields.add_error(PURPOSE, NOT_OF_ID)
    fields.check()
    return target


def check_digits(code: str, principal: Principal, target: GuessTarget) -> None:
    """Raises unless the code is 4 to 8 digits, or a custom code: other shapes spend no attempt."""
    if not GENERATED_CODE.fullmatch(code) and not is_custom_code(
        principal, phone=target.phone, purpose=target.purpose, verification_id=target.id
    ):
        raise invalid_input(code=A_CODE)
