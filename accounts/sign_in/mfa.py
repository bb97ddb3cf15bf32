"""Secrets of second factors, encrypted at rest with MFA_KEYS.

What is stored is `fernet:<id of the key>:<token>` (https://github.com/fernet/spec: AES-CBC with
HMAC-SHA-256), so that keys can rotate: once the new key is first in every process,
`manage.py rotate_mfa_keys` re-encrypts the secrets of old keys. A secret without the prefix
predates encryption and is read as plaintext.
"""

import base64
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction

PREFIX = "fernet"
PLAINTEXT = ""  # the key id of unencrypted secrets
SECRET_FIELDS = ("secret", "seed")  # of an authenticator app, of recovery codes


class MFAAdapter(DefaultMFAAdapter):
    def encrypt(self, text: str) -> str:
        return encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        return decrypt(encrypted_text)


def encrypt(text: str) -> str:
    key_id = current_key_id()
    return f"{PREFIX}:{key_id}:{_fernet(settings.MFA_KEYS[key_id]).encrypt(text.encode()).decode()}"


def decrypt(stored: str) -> str:
    """Raises ImproperlyConfigured when the key was removed or replaced."""
    key_id = key_id_of(stored)
    if key_id == PLAINTEXT:
        return stored
    if key_id not in settings.MFA_KEYS:
        raise ImproperlyConfigured(f"MFA_KEYS lacks the key {key_id!r}: second factors need it")
    try:
        return _fernet(settings.MFA_KEYS[key_id]).decrypt(stored.split(":", 2)[2]).decode()
    except InvalidToken:
        raise ImproperlyConfigured(
            f"MFA_KEYS has another secret for {key_id!r} than second factors were stored with"
        ) from None


def current_key_id() -> str:
    return next(iter(settings.MFA_KEYS))


def key_id_of(stored: str) -> str:
    prefix, _, rest = stored.partition(":")
    return rest.partition(":")[0] if prefix == PREFIX else PLAINTEXT


def secrets_by_key() -> Counter[str]:
    """How many secrets each key encrypts; those in plaintext are under an empty name."""
    rows = Authenticator.objects.values_list("data", flat=True).iterator()
    return Counter(key_id_of(data[name]) for data in rows for name in SECRET_FIELDS if name in data)


def rotate() -> Counter[str]:
    """Re-encrypt every secret with the current key; returns the counts by former key."""
    found: Counter[str] = Counter()
    for pk in Authenticator.objects.order_by("pk").values_list("pk", flat=True):
        with transaction.atomic():  # the lock keeps a parallel use of a recovery code
            row = Authenticator.objects.select_for_update().filter(pk=pk).first()
            if row is None:
                continue
            found.update(key_id_of(row.data[name]) for name in SECRET_FIELDS if name in row.data)
            if replace_secrets(row.data, _under_current_key):
                row.save(update_fields=["data"])
    return found


def replace_secrets(data: dict[str, Any], change: Callable[[str], str]) -> bool:
    """Change the secrets in place; returns whether any changed."""
    before = {name: data[name] for name in SECRET_FIELDS if name in data}
    data.update({name: change(text) for name, text in before.items()})
    return any(data[name] != text for name, text in before.items())


def _under_current_key(stored: str) -> str:
    return stored if key_id_of(stored) == current_key_id() else encrypt(decrypt(stored))


@lru_cache(maxsize=16)
def _fernet(secret: bytes) -> Fernet:
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"kvitok second factors")
    return Fernet(base64.urlsafe_b64encode(key.derive(secret)))
