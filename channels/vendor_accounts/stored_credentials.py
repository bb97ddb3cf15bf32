"""Credentials of vendor accounts that operators entered, encrypted at rest.

The environment takes precedence over stored credentials with the same name. Every process learns of
a change by the snapshot of accounts, within seconds (`availability`).
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import structlog
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.db.models import Exists, Max, OuterRef
from django.utils import timezone

from accounts import audit
from accounts.models import User
from channels.models import Attempt, OpenMessage, ProviderAccount
from channels.providers.vendors import VENDORS, vendor_of
from channels.vendor_accounts import registry
from processes.process_state import on_reset
from storage.key_rings import EncryptedTexts, key_id_of

log = structlog.get_logger(__name__)
TEXTS = EncryptedTexts("kvitok vendor credentials", "credentials of vendors")
_encrypted: dict[str, str] = {}


def update_registry(encrypted: Mapping[str, str]) -> None:
    """Makes the registry use these credentials, by account name, if they have changed."""
    if dict(encrypted) == _encrypted:
        return
    registry.use_stored(
        {name: options for name, text in encrypted.items() if (options := _readable(name, text))}
    )
    _encrypted.clear()
    _encrypted.update(encrypted)


@on_reset
def _forget() -> None:
    """Makes the next snapshot count as a change: the registry has dropped the last one too."""
    _encrypted.clear()


def _readable(name: str, text: str) -> dict[str, str]:
    """Decrypted credentials; empty if the key is lost: other accounts must continue."""
    try:
        return decode(text)
    except ImproperlyConfigured as error:
        log.error("credentials_unreadable", account=name, reason=str(error))  # noqa: TRY400
        return {}


def decode(text: str) -> dict[str, str]:
    options: dict[str, str] = json.loads(TEXTS.decrypt(text)) if text else {}
    return options


def options_of(name: str) -> dict[str, str]:
    """The stored options; empty if there are none, or if their key is lost.

    After the loss of a key all options have to be entered again.
    """
    row = ProviderAccount.objects.filter(name=name).first()
    return _readable(name, row.credentials) if row else {}


def public_options(name: str) -> dict[str, str]:
    """The options that the form may show: all except secrets."""
    options = options_of(name)
    public_fields = {field.name for field in VENDORS[vendor_of(name)].fields if not field.is_secret}
    return {field: options[field] for field in options if field in public_fields}


def has_stored(name: str) -> bool:
    return ProviderAccount.objects.filter(name=name).exclude(credentials="").exists()


@transaction.atomic
def save(*, name: str, values: Mapping[str, str], user: User, ip: str) -> list[str]:
    """Stores the values of options; returns the changed names.

    An empty secret keeps the stored one; any other empty value removes the option.
    """
    row = ProviderAccount.objects.select_for_update().filter(name=name).first()
    before = _readable(name, row.credentials) if row else {}
    secret = {field.name for field in VENDORS[vendor_of(name)].fields if field.is_secret}
    secrets = {option: text for option, text in before.items() if option in secret}
    after = secrets | {option: text for option, text in values.items() if text}
    changed = sorted(
        option for option in {*before, *after} if before.get(option) != after.get(option)
    )
    if not changed:
        return []
    row = row or ProviderAccount(
        name=name,
        position=_last_position(),
        max_per_second=VENDORS[vendor_of(name)].max_per_second,
    )
    row.credentials = TEXTS.encrypt(json.dumps(after))
    row.credentials_changed_at = timezone.now()
    row.save(update_fields=["credentials", "credentials_changed_at"] if row.pk else None)
    subject = f"{name}: {', '.join(changed)}"
    audit.record("account.connected", subject, company=None, user=user, ip=ip)
    return changed


def _last_position() -> int:
    last = ProviderAccount.objects.aggregate(last=Max("position"))["last"] or 0
    after_live = registry.POSITION_STEP * len(registry.live_providers())
    return max(last + registry.POSITION_STEP, after_live)


def awaits_receipts(name: str) -> bool:
    """Whether a message's outcome is open and may still be proved by its vendor's receipt."""
    attempts = Attempt.objects.filter(
        message_id=OuterRef("message_id"), pk=OuterRef("attempt_id"), provider=name
    )
    return OpenMessage.objects.filter(Exists(attempts)).exists()


@transaction.atomic
def remove(*, name: str, user: User, ip: str) -> bool:
    """Deletes the credentials of an account; False if there is no such account, or it has none.

    The account must be switched off and await no receipts, which the credentials verify. The row
    stays: attempts refer to the account.
    """
    rows = ProviderAccount.objects.filter(name=name, is_enabled=False).exclude(credentials="")
    if awaits_receipts(name) or not rows.update(credentials=""):
        return False
    audit.record("account.disconnected", name, company=None, user=user, ip=ip)
    return True


def secrets_by_key() -> Counter[str]:
    """The number of accounts whose credentials each key encrypts."""
    rows = ProviderAccount.objects.exclude(credentials="")
    return Counter(map(key_id_of, rows.values_list("credentials", flat=True)))


def rotate() -> Counter[str]:
    """Re-encrypts all credentials with the current key; returns the counts by former key."""
    counts: Counter[str] = Counter()
    for pk in ProviderAccount.objects.exclude(credentials="").values_list("pk", flat=True):
        with transaction.atomic():
            row: Any = ProviderAccount.objects.select_for_update().get(pk=pk)
            counts.update([key_id_of(row.credentials)])
            row.credentials = TEXTS.under_current_key(row.credentials)
            row.save(update_fields=["credentials"])
    return counts
