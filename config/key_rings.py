"""Key rings: the first key of a ring signs or encrypts, every key of it verifies or decrypts.

A ring therefore rotates in three steps, with a restart of all processes after each: the new key is
appended, then put first, then the old one is dropped. A key that was put first at once would sign
what processes not yet restarted cannot verify.
"""

import hashlib
import hmac

from django.conf import settings

from config.environment.variables import KEYRINGS


def identities() -> dict[str, list[str]]:
    """The keys of this process by ring, in order, as `id:fingerprint`: safe to store and show."""
    return {
        ring: [
            f"{key_id}:{_fingerprint(secret)}" for key_id, secret in getattr(settings, ring).items()
        ]
        for ring in KEYRINGS
    }


def _fingerprint(secret: bytes) -> str:
    """Tells two secrets under one id apart; 32 bits of a MAC reveal nothing about the key."""
    return hmac.digest(secret, b"fingerprint", hashlib.sha256)[:4].hex()
