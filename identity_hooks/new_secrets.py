"""Secrets as the servers want them, made here or by the server."""

import base64
import binascii
import secrets
from collections.abc import Callable
from typing import NamedTuple

from django.utils.crypto import get_random_string

PREFIX = "whsec_"
MAX_LENGTH = 255


def bearer() -> str:
    return "kvh_" + get_random_string(40)  # 238 bits


def is_token(text: str) -> bool:
    """What fits into a header and is too long to guess."""
    return (
        16 <= len(text) <= MAX_LENGTH and text.isascii() and text.isprintable() and " " not in text
    )


def standard() -> str:
    """Standard Webhooks ask for 24 to 64 bytes."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def supabase() -> str:
    return "v1," + standard()


def is_standard(text: str) -> bool:
    encoded = text.removeprefix("v1,")
    if not encoded.startswith(PREFIX):
        return False
    try:
        key = base64.b64decode(encoded.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return False
    return 24 <= len(key) <= 64


class SecretForm(NamedTuple):
    make: Callable[[], str]
    is_valid: Callable[[str], bool]  # of one that the server made


BEARER = SecretForm(bearer, is_token)
STANDARD_WEBHOOKS = SecretForm(standard, is_standard)
SUPABASE = SecretForm(supabase, is_standard)
