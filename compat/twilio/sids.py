"""Twilio's ids, which are derived from ours: `VE` and the digits of a verification's, `VL` of a
message's; a service is a company's codes of one purpose in one mode.
"""

import hashlib
import re
from functools import lru_cache
from uuid import UUID

from catalogue.ids import uuid_or_none

_ID = re.compile(r"[0-9a-fA-F]{32}")


def sid(prefix: str, value: UUID) -> str:
    return f"{prefix}{value.hex}"


def parse_sid(prefix: str, text: str) -> UUID | None:
    digits = text.removeprefix(prefix)
    is_sid = text.startswith(prefix) and _ID.fullmatch(digits)
    return uuid_or_none(digits) if is_sid else None


def derived(prefix: str, *facts: object) -> str:
    text = ":".join(map(str, facts))
    return prefix + hashlib.sha256(f"twilio:{text}".encode()).hexdigest()[:32]


@lru_cache(maxsize=4096)
def service_sid(company_id: int, mode: str, purpose: str) -> str:
    """Never changes, as clients have it in their settings. No secret: the key is."""
    return derived("VA", company_id, mode, purpose)
