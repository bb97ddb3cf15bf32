"""Key rings: the first key of a ring signs or encrypts, every key of it verifies or decrypts.

A ring is therefore rotated in three steps, with a restart of all processes after each: the new key
is appended, then moved to the front, then the old one is dropped. A new key put first at once would
sign texts that processes not yet restarted cannot verify.

Texts encrypted at rest are stored as `fernet:<id of the key>:<token>`, under the first key of
MFA_KEYS. Each purpose derives its own key, so that no text can be decrypted for another purpose. A
text without the prefix predates encryption and is read as plaintext.
"""

import base64
import hashlib
import hmac
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

KEYRINGS = ("OTP_KEYS", "WEBHOOK_KEYS", "MFA_KEYS")


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


PREFIX = "fernet"
PLAINTEXT = ""  # the key id of texts that are not encrypted


def current_key_id() -> str:
    return next(iter(settings.MFA_KEYS))


def key_id_of(stored: str) -> str:
    prefix, _, rest = stored.partition(":")
    return rest.partition(":")[0] if prefix == PREFIX else PLAINTEXT


class EncryptedTexts:
    """Encrypts texts of one purpose, which has its own keys.

    Errors say that `users`, in words, need a missing key.
    """

    def __init__(self, purpose: str, users: str) -> None:
        self._info = purpose.encode()
        self._users = users

    def encrypt(self, text: str) -> str:
        key_id = current_key_id()
        token = _fernet(settings.MFA_KEYS[key_id], self._info).encrypt(text.encode())
        return f"{PREFIX}:{key_id}:{token.decode()}"

    def decrypt(self, stored: str) -> str:
        """The plaintext; raises ImproperlyConfigured if the key was removed or replaced."""
        key_id = key_id_of(stored)
        if key_id == PLAINTEXT:
            return stored
        if key_id not in settings.MFA_KEYS:
            raise ImproperlyConfigured(f"MFA_KEYS lacks the key {key_id!r}: {self._users} need it")
        try:
            fernet = _fernet(settings.MFA_KEYS[key_id], self._info)
            return fernet.decrypt(stored.split(":", 2)[2]).decode()
        except InvalidToken:
            raise ImproperlyConfigured(
                f"MFA_KEYS has another secret for {key_id!r} than {self._users} were stored with"
            ) from None

    def under_current_key(self, stored: str) -> str:
        """The stored text, encrypted again unless it is under the current key already."""
        return (
            stored if key_id_of(stored) == current_key_id() else self.encrypt(self.decrypt(stored))
        )


@lru_cache(maxsize=16)
def _fernet(secret: bytes, info: bytes) -> Fernet:
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=info)
    return Fernet(base64.urlsafe_b64encode(key.derive(secret)))
