"""Phones as a member of a company may see them: whole for who works with the service, masked for
who reads its figures and bills.
"""

import re
from typing import Any

from accounts.models import Member

_PHONE = re.compile(r"\+?\d[\d ()-]{6,18}\d")  # however it is spelled


def mask_phone(phone: str) -> str:
    """`+79161234567` → `+7916•••••67`: the country and the network, and two digits to compare."""
    if phone.endswith("*"):  # anonymised already
        return phone
    return f"{phone[:5]}•••••{phone[-2:]}" if len(phone) > 9 else f"{phone[:3]}•••••"


def phone_for(phone: str, member: Member | None) -> str:
    return phone if member and member.can_see_phones else mask_phone(phone)


def text_for(text: str, member: Member | None) -> str:
    """What somebody's program wrote, which may repeat a phone that it was told."""
    if member and member.can_see_phones:
        return text
    return _PHONE.sub(lambda found: mask_phone(found[0]), text)


def event_for(data: dict[str, Any], member: Member | None) -> dict[str, Any]:
    """What an event said, for this member to read."""
    if not isinstance(phone := data.get("phone"), str):
        return data
    return data | {"phone": phone_for(phone, member)}
