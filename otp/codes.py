"""One-time codes: derived when needed, never stored.

The code of a verification is a truncated HMAC of its id, so a resend repeats it and a worker can
render it. At rest there is only a MAC that binds company, mode, phone, purpose and code.
"""

import hashlib
import hmac
from functools import cache
from uuid import UUID

from django.conf import settings


def current_key() -> str:
    """The id of the key that makes new codes: the first of OTP_KEYS."""
    return next(iter(settings.OTP_KEYS))


def known_keys() -> list[str]:
    return list(settings.OTP_KEYS)


def derive(verification_id: UUID, *, key_id: str, length: int) -> str:
    """`length` digits, by the dynamic truncation of RFC 4226 §5.3 over HMAC-SHA-256.

    63 bits rather than its 31, so that even eight digits come out without a bias worth naming.
    """
    digest = hmac.digest(_subkey(key_id, b"code"), verification_id.bytes, hashlib.sha256)
    offset = digest[-1] & 0xF
    number = int.from_bytes(digest[offset : offset + 8], "big") & 0x7FFF_FFFF_FFFF_FFFF
    return str(number % 10**length).zfill(length)


def mac(*, key_id: str, company_id: int, mode: str, phone: str, purpose: str, code: str) -> bytes:
    """What is kept of a code: useless without the key, and for any other phone or purpose."""
    bound = "\0".join(("v1", str(company_id), mode, phone, purpose, code)).encode()
    return hmac.digest(_subkey(key_id, b"mac"), bound, hashlib.sha256)


def candidate_macs(
    *, company_id: int, mode: str, phone: str, purpose: str, code: str
) -> list[bytes]:
    """Candidates under every key still known, so that keys rotate while codes live."""
    return [
        mac(
            key_id=key_id,
            company_id=company_id,
            mode=mode,
            phone=phone,
            purpose=purpose,
            code=code,
        )
        for key_id in settings.OTP_KEYS
    ]


def _subkey(key_id: str, use: bytes) -> bytes:
    """Codes and MACs have keys of their own, so neither function answers for the other."""
    return _purpose_key(settings.OTP_KEYS[key_id], use)


@cache
def _purpose_key(key: bytes, use: bytes) -> bytes:
    return hmac.digest(key, use, hashlib.sha256)
