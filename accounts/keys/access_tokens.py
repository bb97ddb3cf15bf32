"""Short-lived tokens in place of a key, for clients that fetch one (RFC 6749, §4.4).

A token is signed, not stored: it names the key by its digest, and is worth nothing once the key is
revoked.
"""

import base64
import binascii

from django.core import signing

from accounts.keys import api_keys
from accounts.keys.principal import Principal

LIFETIME = 3600  # seconds
_signer = signing.TimestampSigner(salt="accounts.keys.access_tokens")


def issue(key: str) -> str:
    return _signer.sign(base64.urlsafe_b64encode(api_keys.digest(key)).decode())


def find(token: str) -> Principal | None:
    """None for a token that is not ours or over, and for that of a key which is no longer valid."""
    try:
        named = _signer.unsign(token, max_age=LIFETIME)
        return api_keys.find_by_digest(base64.urlsafe_b64decode(named))
    except (signing.BadSignature, binascii.Error, ValueError):
        return None
