"""One-time codes: derived when needed, never stored.

The code of a verification is a truncated HMAC of its id, so a resend repeats it and a worker can
render it. At rest there is only a MAC that binds company, mode, phone, purpose and code.
"""

import hashlib
import hmac
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.conf import settings

if TYPE_CHECKING:  # models are not loaded where a tool reads codes from outside the service
    from accounts.keys.principal import Principal


def code_identity(principal: "Principal", phone: str, purpose: str) -> dict[str, Any]:
    """The identity of a code: input of its MAC, and parameters of statements."""
    return {
        "company_id": principal.company_id,
        "mode": principal.mode,
        "phone": phone,
        "purpose": purpose,
    }


def current_key() -> str:
    """The id of the key that makes new codes, the first of OTP_KEYS."""
    return next(iter(settings.OTP_KEYS))


def known_keys() -> list[str]:
    return list(settings.OTP_KEYS)


def derive(verification_id: UUID, *, key_id: str, length: int) -> str:
    """The code of a verification: `length` digits by RFC 4226 §5.3 over HMAC-SHA-256.

    It keeps 63 bits instead of 31, which makes the modulo bias of eight digits negligible.
    """
    digest = hmac.digest(subkey(key_id, b"code"), verification_id.bytes, hashlib.sha256)
    offset = digest[-1] & 0xF
    number = int.from_bytes(digest[offset : offset + 8], "big") & 0x7FFF_FFFF_FFFF_FFFF
    return str(number % 10**length).zfill(length)


def mac(*, key_id: str, company_id: int, mode: str, phone: str, purpose: str, code: str) -> bytes:
    """The stored form of a code, useless without the key or for another phone or purpose."""
    bound = "\0".join(("v1", str(company_id), mode, phone, purpose, code)).encode()
    return hmac.digest(subkey(key_id, b"mac"), bound, hashlib.sha256)


def candidate_macs(**bound: Any) -> list[bytes]:
    """The MACs of the code under all known keys, so that keys can rotate while codes are live."""
    return [mac(key_id=key_id, **bound) for key_id in settings.OTP_KEYS]


def subkey(key_id: str, use: bytes) -> bytes:
    """The key for one use, so that none of codes, MACs and seals can be used to forge another."""
    return _purpose_key(settings.OTP_KEYS[key_id], use)


@cache
def _purpose_key(key: bytes, use: bytes) -> bytes:
    return hmac.digest(key, use, hashlib.sha256)
