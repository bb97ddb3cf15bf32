"""Masks phones for members who only read figures and bills (viewers and accountants)."""

import re
from collections.abc import Mapping
from typing import Any

from accounts.masked_phones import mask_phone, mask_phones_in
from accounts.models import Member

# What digits stand in otherwise: ids and times.
_MACHINE = re.compile(r"[a-z]+_[0-9a-f]+|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)")


def sees_phones(member: Member | None) -> bool:
    return member is not None and member.can_see_phones


def phone_for(phone: str, member: Member | None) -> str:
    return phone if sees_phones(member) else mask_phone(phone)


def text_for(text: str, member: Member | None) -> str:
    """Mask phones within free text: a link's target, an error of a vendor or receiver."""
    return text if sees_phones(member) else mask_phones_in(text)


def may_search(text: str, member: Member) -> bool:
    """A search for a part of a text, extended digit by digit, would reveal the masked digits."""
    return member.can_see_phones or not any(char.isdigit() or char == "%" for char in text)


def event_for(data: Mapping[str, Any], member: Member | None) -> dict[str, Any]:
    """Event data with the phones masked for this member."""
    return {
        name: phone_for(value, member) if name == "phone" and value else _value_for(value, member)
        for name, value in data.items()
    }


def _value_for(value: Any, member: Member | None) -> Any:
    match value:
        case str():
            return value if _MACHINE.fullmatch(value) else text_for(value, member)
        case dict():
            return event_for(value, member)
        case list():
            return [_value_for(one, member) for one in value]
    return value
