"""Access tokens that clients get for their key (RFC 6749, §4.4), valid for an hour.

They are signed, not stored. Each contains the key's digest and is refused once the key is revoked.
"""

import base64
import binascii

from django.core import signing

from accounts.keys import api_keys, key_format
from accounts.keys.principal import Principal

LIFETIME = 3600  # seconds
_signer = signing.TimestampSigner(salt="accounts.keys.access_tokens")


def issue(key: str) -> str:
    return _signer.sign(base64.urlsafe_b64encode(key_format.digest(key)).decode())


def find_issued(token: str) -> Principal | None:
    """The principal of a token that we issued; None if it is foreign or expired, or its key is no
    longer valid.
    """
    try:
        digest = _signer.unsign(token, max_age=LIFETIME)
        return api_keys.find_by_digest(base64.urlsafe_b64decode(digest))
    except (signing.BadSignature, binascii.Error, ValueError):
        return None
