"""Secrets of second factors, encrypted at rest with MFA_KEYS.

Secrets are stored as `fernet:<key id>:<token>` (https://github.com/fernet/spec: AES-CBC with
HMAC-SHA-256), so that keys can rotate: once the new key is first in every process,
`manage.py rotate_mfa_keys` re-encrypts the secrets of old keys. A secret without the prefix
predates encryption and is read as plaintext.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.base.internal.flows import delete_dangling_recovery_codes
from allauth.mfa.models import Authenticator
from allauth.mfa.stages import AuthenticateStage as AllauthAuthenticateStage
from django.db import transaction
from django.http import HttpRequest

from accounts.models import User
from accounts.security import sessions
from storage.key_rings import EncryptedTexts, key_id_of

SECRET_FIELDS = ("secret", "seed")  # of an authenticator app, of recovery codes
_TEXTS = EncryptedTexts("kvitok second factors", "second factors")
encrypt = _TEXTS.encrypt
decrypt = _TEXTS.decrypt
under_current_key = _TEXTS.under_current_key


class MFAAdapter(DefaultMFAAdapter):
    def encrypt(self, text: str) -> str:
        return encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        return decrypt(encrypted_text)


def secrets_by_key() -> Counter[str]:
    """The number of secrets that each key encrypts; those in plaintext are under an empty name."""
    rows = Authenticator.objects.values_list("data", flat=True).iterator()
    return Counter(key_id_of(data[name]) for data in rows for name in SECRET_FIELDS if name in data)


def rotate() -> Counter[str]:
    """Re-encrypts every secret with the current key; returns the counts by former key."""
    counts: Counter[str] = Counter()
    for pk in Authenticator.objects.order_by("pk").values_list("pk", flat=True):
        with transaction.atomic():  # the lock preserves a concurrent use of a recovery code
            row = Authenticator.objects.select_for_update().filter(pk=pk).first()
            if row is None:
                continue
            counts.update(key_id_of(row.data[name]) for name in SECRET_FIELDS if name in row.data)
            if replace_secrets(row.data, under_current_key):
                row.save(update_fields=["data"])
    return counts


def replace_secrets(data: dict[str, Any], change: Callable[[str], str]) -> bool:
    """Changes the secrets in place; returns whether any changed."""
    before = {name: data[name] for name in SECRET_FIELDS if name in data}
    data.update({name: change(text) for name, text in before.items()})
    return any(data[name] != text for name, text in before.items())


@transaction.atomic
def remove(factor: Authenticator) -> None:
    """Removes a factor as allauth does. With the last factor it deletes the recovery codes, which
    would otherwise stay valid for the next factor.
    """
    User.objects.select_for_update(no_key=True).get(pk=factor.user_id)
    factor.delete()
    delete_dangling_recovery_codes(factor.user)


_STAMP = "stamp"  # the account's stamp, in the state of a sign-in between its two steps


class AuthenticateStage(AllauthAuthenticateStage):
    """The second step of signing in, skipped if the provider is trusted with it. A completed first
    step, which may wait in the browser for minutes, becomes invalid when the password changes or
    the user's sessions are ended.
    """

    def handle(self) -> Any:
        self.state[_STAMP] = sessions.stamp_of(self._user())
        return super().handle()

    def exit(self) -> Any:
        if not sessions.is_stamp_of(self._user(), self.state.get(_STAMP, "")):
            return self.abort()  # type: ignore[no-untyped-call]
        return super().exit()  # type: ignore[no-untyped-call]

    def _user(self) -> User:
        assert isinstance(self.login.user, User)  # noqa: S101 - nobody else signs in
        return self.login.user

    def _should_handle(self, request: HttpRequest) -> bool:
        if sessions.has_provider_factor(request, self._user()):
            return False
        return bool(super()._should_handle(request))
