"""Twilio's ids, which are derived from ours: `VE` and the digits of a verification's, `VL` of a
message's; a service is a company's codes of one purpose in one mode.
"""

import re
from uuid import UUID

from compat.dialect import derived_id


def sid(prefix: str, value: UUID) -> str:
    return f"{prefix}{value.hex}"


def parse_sid(prefix: str, text: str) -> UUID | None:
    match = re.fullmatch(rf"{prefix}([0-9a-fA-F]{{32}})", text)
    return UUID(match[1]) if match else None


def service_sid(company_id: int, mode: str, purpose: str) -> str:
    return f"VA{derived_id('twilio', company_id, mode, purpose)}"
