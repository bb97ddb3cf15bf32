"""JSON Web Tokens that a client signs with a private key of its own (RS256, RFC 7519).

The company stores the public key with one of its API keys, and gives the client the key's
application id, which the token names.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.keys import api_keys
from accounts.keys.api_keys import Principal
from accounts.models import ApiKey

LEEWAY = 60  # seconds that the client's clock may be wrong
LONGEST = timedelta(hours=24).total_seconds()  # a token may live
MIN_BITS = 2048
MAX_LENGTH = 4000  # characters of a token, and of a key
NOT_A_KEY = _("An RSA public key in PEM of at least 2048 bits; it begins with BEGIN PUBLIC KEY")


def find(token: str) -> Principal | None:
    """None for whatever is not a valid token of a key that is."""
    try:
        key = _key_named(jwt.decode(token, options={"verify_signature": False}))
        if key is None:
            return None
        claims = jwt.decode(
            token,
            key.public_key,
            algorithms=["RS256"],
            options={"require": ["iat", "exp"], "verify_aud": False},
            leeway=LEEWAY,
        )
        is_short = int(claims["exp"]) - int(claims["iat"]) <= LONGEST
    # The last two: a number or a nesting that JSON allows and Python does not.
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError):
        return None
    return api_keys.find_by_digest(bytes(key.digest)) if is_short else None


def _key_named(claims: Mapping[str, Any]) -> ApiKey | None:
    named = UUID(str(claims.get("application_id", ""))).int  # `ApiKey.application_id`
    if named >= 2**63:
        return None
    return (
        ApiKey.objects.filter(pk=named).exclude(public_key="").only("digest", "public_key").first()
    )


def validate_public_key(pem: str) -> None:
    try:
        key = load_pem_public_key(pem.encode())
    except (ValueError, TypeError):
        raise ValidationError(NOT_A_KEY) from None
    if not isinstance(key, RSAPublicKey) or key.key_size < MIN_BITS:
        raise ValidationError(NOT_A_KEY)
