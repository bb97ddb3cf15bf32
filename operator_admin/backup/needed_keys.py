"""The keys that stored data needs: named in a manifest, never contained in it.

A fingerprint tells another secret under the same id. It is a keyed digest of a fixed word, so it
reveals nothing about a random key.
"""

import hashlib
import hmac

from allauth.mfa.models import Authenticator
from django.conf import settings

from accounts.sign_in import mfa
from accounts.webhooks import signing
from channels.vendor_accounts import stored_credentials
from config.encrypted_texts import PLAINTEXT, key_id_of
from persons.erasure_list import erasures_by_key

NeededKeys = dict[str, dict[str, str]]  # setting → id of a key → its fingerprint

ABSENT = ""  # the fingerprint of a key that the settings lacked when the backup was made
CONSEQUENCES = {
    "MFA_KEYS": "nobody with a second factor could sign in, vendors of the admin could not be used",
    "WEBHOOK_KEYS": "webhooks could not be signed, nor erasures applied again",
}


def needed_keys() -> NeededKeys:
    ids = {
        "MFA_KEYS": _of_second_factors() | set(stored_credentials.secrets_by_key()),
        "WEBHOOK_KEYS": _of_endpoints() | set(erasures_by_key()),
    }
    return {
        setting: {key_id: _fingerprint(setting, key_id) for key_id in sorted(found)}
        for setting, found in ids.items()
    }


def missing_keys(needed: NeededKeys) -> list[str]:
    """What is wrong with our settings for this data, worded; empty: nothing."""
    return [
        f"{setting} {_verdict(setting, key_id)} the key {key_id!r}: {CONSEQUENCES[setting]}"
        for setting, keys in needed.items()
        for key_id, fingerprint in keys.items()
        if not (fingerprint and hmac.compare_digest(fingerprint, _fingerprint(setting, key_id)))
    ]


def _verdict(setting: str, key_id: str) -> str:
    return "has another secret for" if key_id in _ring(setting) else "lacks"


def _of_second_factors() -> set[str]:
    return {
        key_id_of(data[name])
        for data in Authenticator.objects.values_list("data", flat=True).iterator()
        for name in mfa.SECRET_FIELDS
        if name in data
    } - {PLAINTEXT}


def _of_endpoints() -> set[str]:
    return set(signing.secrets_by_key())


def _fingerprint(setting: str, key_id: str) -> str:
    secret = _ring(setting).get(key_id)
    if secret is None:
        return ABSENT
    return hmac.digest(secret, f"kvitok backup {setting}".encode(), hashlib.sha256)[:8].hex()


def _ring(setting: str) -> dict[str, bytes]:
    ring: dict[str, bytes] = getattr(settings, setting)
    return ring
