"""Masks phones for members who only read figures and bills (viewers and accountants)."""

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.masked_phones import mask_phone, mask_phones_in, mask_prefix
from accounts.models import Member
from storage.atomic_limits import LimiterDownError, Window, acquire, hashed

LOOK_UPS = (200, 24 * 3600)  # for a member who sees masked phones: (count, seconds)
TOO_MANY_LOOK_UPS = _(
    "You have looked for too many numbers today: your role sees masked phones. Try again tomorrow."
)
# Digits that are not a phone: our own ids (`catalogue.ids`) and times.
_MACHINE = re.compile(
    r"[a-z]{3}_[0-9a-f]{12}[47][0-9a-f]{3}[89ab][0-9a-f]{15}|req_[0-9a-f]{22}"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)",
    re.ASCII,
)


def sees_phones(member: Member | None) -> bool:
    return member is not None and member.can_see_phones


def phone_for(phone: str, member: Member | None) -> str:
    return phone if sees_phones(member) else mask_phone(phone)


def text_for(text: str, member: Member | None) -> str:
    """Masks phones within free text: a link's target, an error of a vendor or receiver."""
    return text if sees_phones(member) else mask_phones_in(text)


def may_search(text: str, member: Member) -> bool:
    """Whether the member may search for part of a text: such a search, extended digit by digit,
    would reveal the masked digits.
    """
    return member.can_see_phones or not any(char.isdigit() or char == "%" for char in text)


def may_look_up(number: str, member: Member) -> bool:
    """Whether the member may look up a number. Members who see masked phones may look up a number
    that somebody gave them, but not many: five hidden digits are 100,000 numbers. Looking up the
    same number again within a day does not count.
    """
    if member.can_see_phones:
        return True
    look_up = Window(f"look-up:{member.pk}:{hashed(number)}", 1, LOOK_UPS[1])
    try:
        outcome = acquire([look_up, Window(f"look-ups:{member.pk}", *LOOK_UPS)]).outcome
    except LimiterDownError:
        return True
    return outcome <= 1  # 1: the first window is full, so the number was counted before


def may_look_up_text(text: str, member: Member) -> bool:
    """Whether the member may search for a whole text, such as a reference, which may be a phone."""
    return text_for(text, member) == text or may_look_up(text, member)


def prefix_for(digits: str, member: Member | None) -> str:
    """The common prefix of numbers, masked unless the member sees phones."""
    return digits if sees_phones(member) else mask_prefix(digits)


def event_for(data: Mapping[str, Any], member: Member | None) -> dict[str, Any]:
    return {name: _value_for(value, member, name) for name, value in data.items()}


def _value_for(value: Any, member: Member | None, name: str = "") -> Any:
    match value:
        case str() if name == "phone":
            return phone_for(value, member)
        case str() if name == "value" and value.startswith("+"):  # prefix of an attacked range
            return prefix_for(value, member)
        case str():
            return value if _MACHINE.fullmatch(value) else text_for(value, member)
        case dict():
            return event_for(value, member)
        case list():
            return [_value_for(item, member) for item in value]
    return value
