"""Authenticates identity servers: by secrets, over the raw bytes, in constant time."""

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from typing import NamedTuple

from django.utils.crypto import get_random_string

from identity_hooks.hook_call import HookCall

Check = Callable[[HookCall, str], bool]  # called with one of the hook's secrets
TOLERANCE = 300  # seconds between the signature's time and our clock, either way
SECRET_PREFIX = "whsec_"  # noqa: S105 - of Standard Webhooks
_SIGNATURE_V1 = re.compile(r"(?:^|[\s,])v1,([A-Za-z0-9+/]+=*)")


def equal(actual: str, expected: str) -> bool:
    return hmac.compare_digest(actual.encode(), expected.encode())


def token(call: HookCall, secret: str) -> bool:
    """Compares the secret: plain, Bearer or Basic in `Authorization`, or in `X-Api-Key`."""
    authorization = call.headers.get("authorization", "").strip()
    scheme, _, rest = authorization.partition(" ")
    if scheme.lower() == "basic":
        token_sent = _password(rest.strip())
    elif scheme.lower() == "bearer":
        token_sent = rest.strip()
    else:
        token_sent = authorization or call.headers.get("x-api-key", "").strip()
    return equal(token_sent, secret)


def _password(credentials: str) -> str:
    try:
        decoded = base64.b64decode(credentials, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""
    return decoded.partition(":")[2]


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def standard_webhooks(prefix: str = "webhook") -> Check:
    """A check of signatures of https://www.standardwebhooks.com.

    Svix has the same scheme with its own header names. The specification separates several
    signatures by spaces, Supabase by `, `.
    """

    def check(call: HookCall, secret: str) -> bool:
        message_id = call.headers.get(f"{prefix}-id", "")
        timestamp = call.headers.get(f"{prefix}-timestamp", "").strip()
        if not message_id or not is_fresh(timestamp, call.at):
            return False
        expected = standard_signature(secret, message_id, timestamp, call.body)
        signatures = _SIGNATURE_V1.findall(call.headers.get(f"{prefix}-signature", ""))
        return max([equal(signature, expected) for signature in signatures], default=False)

    return check


def standard_signature(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    """The signature in base64, without the version."""
    key = base64.b64decode(secret.removeprefix("v1,").removeprefix(SECRET_PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def standard_headers(
    prefix: str, secret: str, message_id: str, at: float, body: bytes
) -> dict[str, str]:
    timestamp = str(int(at))
    signature = standard_signature(secret, message_id, timestamp, body)
    return {
        f"{prefix}-id": message_id,
        f"{prefix}-timestamp": timestamp,
        f"{prefix}-signature": f"v1,{signature}",
    }


def is_fresh(timestamp: str, at: float) -> bool:
    """Whether `timestamp`, in Unix seconds, is close enough to `at`."""
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        return False
    return abs(at - int(timestamp)) <= TOLERANCE


def zitadel(call: HookCall, secret: str) -> bool:
    """Checks `ZITADEL-Signature: t=<seconds>,v1=<hex>` over `t.body`.

    There are several `v1` while a key rotates. Older versions do not sign, and have the secret at
    the end of the path.
    """
    if call.path_secret:
        return equal(call.path_secret, secret)
    pairs = [part.strip().partition("=") for part in _header(call, "zitadel-signature").split(",")]
    timestamp = next((value for name, _, value in pairs if name == "t"), "")
    if not is_fresh(timestamp, call.at):
        return False
    expected = zitadel_signature(secret, timestamp, call.body)
    return max([equal(value, expected) for name, _, value in pairs if name == "v1"], default=False)


def zitadel_signature(secret: str, timestamp: str, body: bytes) -> str:
    return hex_hmac(secret, f"{timestamp}.".encode() + body)


def hex_hmac(secret: str, content: bytes) -> str:
    return hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()


def named_header(header: str) -> Check:
    return lambda call, secret: equal(_header(call, header).strip(), secret)


def body_hmac(header: str) -> Check:
    """A check that the header is the hexadecimal HMAC-SHA256 of the body."""

    def check(call: HookCall, secret: str) -> bool:
        return equal(_header(call, header).strip().lower(), hex_hmac(secret, call.body))

    return check


def _header(call: HookCall, name: str) -> str:
    return call.headers.get(name, "")


MAX_LENGTH = 255


def new_bearer_secret() -> str:
    return "kvh_" + get_random_string(40)  # 238 bits


def is_token(text: str) -> bool:
    """Whether the text fits into a header and is long enough not to be guessed."""
    return (
        16 <= len(text) <= MAX_LENGTH and text.isascii() and text.isprintable() and " " not in text
    )


def new_standard_secret() -> str:
    """A secret of 32 bytes: Standard Webhooks require 24 to 64."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def new_supabase_secret() -> str:
    return "v1," + new_standard_secret()


def is_standard(text: str) -> bool:
    encoded = text.removeprefix("v1,")
    if not encoded.startswith(SECRET_PREFIX):
        return False
    try:
        key = base64.b64decode(encoded.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return False
    return 24 <= len(key) <= 64


class SecretForm(NamedTuple):
    make: Callable[[], str]
    is_valid: Callable[[str], bool]  # for a secret that the server made


BEARER = SecretForm(new_bearer_secret, is_token)
STANDARD_WEBHOOKS = SecretForm(new_standard_secret, is_standard)
SUPABASE = SecretForm(new_supabase_secret, is_standard)
