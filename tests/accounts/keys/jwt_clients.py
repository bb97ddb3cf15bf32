"""A client that signs its tokens with a private key of its own."""

import time
from functools import cache
from typing import Any
from uuid import uuid4

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from accounts.models import ApiKey


@cache
def private_key(name: str = "", bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def public_pem(key: Any) -> str:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return str(key.public_key().public_bytes(serialization.Encoding.PEM, form).decode())


def claims_of(key: ApiKey, **more: Any) -> dict[str, Any]:
    now = int(time.time())
    made = {"application_id": key.application_id, "iat": now, "exp": now + 900, "jti": str(uuid4())}
    return {name: value for name, value in (made | more).items() if value is not None}


def token_of(key: ApiKey, signer: rsa.RSAPrivateKey | None = None, **more: Any) -> str:
    return jwt.encode(claims_of(key, **more), signer or private_key(), "RS256")
