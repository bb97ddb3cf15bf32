"""JSON Web Tokens that a client signs with its own private key (RS256, RFC 7519).

The company stores the public key with one of its API keys, and gives the client the key's
application id, which the token contains.
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
from accounts.keys.principal import Principal
from accounts.models import ApiKey

ALGORITHM = "RS256"
LEEWAY = 60  # seconds of clock skew
MAX_TOKEN_LIFETIME = timedelta(hours=24).total_seconds()  # seconds
MIN_BITS = 2048
MAX_LENGTH = 4000  # characters of a token, and of a key
NOT_A_KEY = _("An RSA public key in PEM of at least 2048 bits; it begins with BEGIN PUBLIC KEY")


def find_signed(token: str) -> Principal | None:
    """The principal of a signed token; None unless the token and its key are valid.

    Tokens with too short a signature, and expired ones, are refused without a query.
    """
    try:
        signature = token.rpartition(".")[2]
        is_long = len(signature) * 6 >= MIN_BITS  # base64
        if not (is_long and jwt.get_unverified_header(token).get("alg") == ALGORITHM):
            return None
        claims = _decode(token, verify_signature=False)
        if int(claims["exp"]) - int(claims["iat"]) > MAX_TOKEN_LIFETIME:
            return None
        key = _key_named(claims)
        if key is None:
            return None
        _decode(token, key.public_key, verify_signature=True)
    # JSON allows numbers and nesting that raise the last two in Python.
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError):
        return None
    return api_keys.find_by_digest(bytes(key.digest))


def _decode(token: str, key: str = "", *, verify_signature: bool) -> dict[str, Any]:
    return jwt.decode(
        token,
        key,
        algorithms=[ALGORITHM],
        options={
            "verify_signature": verify_signature,
            "verify_exp": True,
            "verify_iat": True,
            "verify_nbf": True,
            "verify_aud": False,
            "require": ["iat", "exp"],
        },
        leeway=LEEWAY,
    )


def _key_named(claims: Mapping[str, Any]) -> ApiKey | None:
    key_id = UUID(str(claims.get("application_id", ""))).int  # `ApiKey.application_id`
    if key_id >= 2**63:
        return None
    return (
        ApiKey.objects.filter(pk=key_id).exclude(public_key="").only("digest", "public_key").first()
    )


def validate_public_key(pem: str) -> None:
    try:
        key = load_pem_public_key(pem.encode())
    except (ValueError, TypeError):
        raise ValidationError(NOT_A_KEY) from None
    if not isinstance(key, RSAPublicKey) or key.key_size < MIN_BITS:
        raise ValidationError(NOT_A_KEY)
