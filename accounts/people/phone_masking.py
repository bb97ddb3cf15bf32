"""Masks phones for members who only read figures and bills (viewers and accountants)."""

import re
from typing import Any

from accounts.models import Member

_PHONE = re.compile(r"\+?\d[\d ()-]{6,18}\d")  # in any notation


def mask_phone(phone: str) -> str:
    """`+79161234567` → `+7916•••••67`: country, network, and two digits to compare."""
    if phone.endswith("*"):  # anonymised already
        return phone
    return f"{phone[:5]}•••••{phone[-2:]}" if len(phone) > 9 else f"{phone[:3]}•••••"


def phone_for(phone: str, member: Member | None) -> str:
    return phone if member and member.can_see_phones else mask_phone(phone)


def text_for(text: str, member: Member | None) -> str:
    """Mask phones within free text, such as an error of a vendor or receiver."""
    if member and member.can_see_phones:
        return text
    return _PHONE.sub(lambda found: mask_phone(found[0]), text)


def event_for(data: dict[str, Any], member: Member | None) -> dict[str, Any]:
    """Event data with the phone masked for this member."""
    if not isinstance(phone := data.get("phone"), str):
        return data
    return data | {"phone": phone_for(phone, member)}
