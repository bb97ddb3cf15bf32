"""Operations on hooks. Each is one transaction and one audit event."""

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.audit import record, save_changes
from accounts.models import Company, User
from accounts.people import members
from catalogue.errors import DomainError, Error, invalid_input
from identity_hooks.kind import HookOptions, Kind
from identity_hooks.kinds import kinds
from identity_hooks.models import Hook
from storage.key_rings import EncryptedTexts, key_id_of

TEXTS = EncryptedTexts("kvitok identity servers", "secrets of identity servers")
MAX_ACTIVE = 20  # per company, both modes together
MAX_NEW = 100  # per day: revoked hooks are kept, and the list reads all of them
REPEAT_WINDOW = timedelta(minutes=1)
TOO_MANY = format_lazy(
    _("A company has up to {max} connections of identity servers: revoke one first"),
    max=MAX_ACTIVE,
)
TOO_MANY_NEW = format_lazy(
    _("{max} connections were made in a day, which is the maximum; try again tomorrow"),
    max=MAX_NEW,
)
UNUSABLE = _("The secret is lost, or calls are checked by one of another form: replace it.")
WRONG_SECRET = _("This is not that server's secret: copy all of it, as the server shows it")


def kind_of(hook: Hook) -> Kind:
    return kinds()[hook.kind]


def options_of(hook: Hook) -> HookOptions:
    return HookOptions(hook.code_length, hook.mapping)


def secrets_of(hook: Hook) -> list[str]:
    """The accepted secrets, newest first; empty if their encryption key is gone."""
    stored = [hook.secret, *([hook.previous_secret] if hook.is_rotating else [])]
    try:
        return [TEXTS.decrypt(text) for text in stored if text]
    except ImproperlyConfigured:
        return []


def usable_secrets(hook: Hook) -> list[str]:
    """The accepted secrets in the form that the present mapping's check of calls needs."""
    form = kind_of(hook).secret_form(hook.mapping)
    return [secret for secret in secrets_of(hook) if form.is_valid(secret)]


@transaction.atomic
def create(
    *,
    company: Company,
    user: User | None,
    kind: str,
    mode: str,
    values: Mapping[str, Any],
    ip: str | None = None,
) -> tuple[Hook, str]:
    """Creates a hook; returns it with its plaintext secret. `values` as in `Hook.settings`."""
    members.lock_for_key_manager(company, user)  # a parallel request waits here
    if company.identity_hooks.active().count() >= MAX_ACTIVE:
        raise DomainError(Error.INVALID_INPUT, message=TOO_MANY)
    a_day_ago = timezone.now() - timedelta(days=1)
    if company.identity_hooks.filter(created_at__gt=a_day_ago).count() >= MAX_NEW:
        raise DomainError(Error.INVALID_INPUT, message=TOO_MANY_NEW)
    secret = kinds()[kind].secret_form(values.get("mapping", {})).make()
    hook = Hook.objects.create(
        company=company,
        created_by=user,
        kind=kind,
        mode=mode,
        secret=TEXTS.encrypt(secret),
        **values,
    )
    record("hook.created", hook, company=company, user=user, ip=ip)
    return hook, secret


@transaction.atomic
def change(
    *, hook: Hook, user: User | None, values: Mapping[str, Any], ip: str | None = None
) -> None:
    hook.refresh_from_db(from_queryset=Hook.objects.select_for_update(no_key=True))
    if changes := save_changes(hook, values):
        record("hook.changed", hook, company=hook.company, user=user, ip=ip, changes=changes)


@transaction.atomic
def rotate(*, hook: Hook, user: User | None, own_secret: str = "", ip: str | None = None) -> str:
    """Replaces the secret with a new one, or with one that the server made.

    The old secret is accepted for 24 hours; an even older one no longer is. A repeat within a
    minute is a double click and returns the same secret.
    """
    members.lock_for_key_manager(hook.company, user)
    hook.refresh_from_db(from_queryset=Hook.objects.select_for_update(no_key=True))
    now = timezone.now()
    until = hook.previous_until
    is_repeated = until is not None and now < until - Hook.ROTATION + REPEAT_WINDOW
    form = kind_of(hook).secret_form(hook.mapping)
    newest = next(iter(secrets_of(hook)), "")
    if is_repeated and own_secret in {"", newest} and form.is_valid(newest):
        return newest
    if own_secret and not form.is_valid(own_secret):
        raise invalid_input(own_secret=WRONG_SECRET)
    secret = own_secret or form.make()
    hook.previous_secret, hook.secret = hook.secret, TEXTS.encrypt(secret)
    hook.previous_until = now + Hook.ROTATION
    hook.save(update_fields=["secret", "previous_secret", "previous_until"])
    record("hook.rotated", hook, company=hook.company, user=user, ip=ip)
    return secret


@transaction.atomic
def revoke(*, hook: Hook, user: User | None, ip: str | None = None) -> None:
    """Revokes the hook: its calls are refused as if it had never existed."""
    now = timezone.now()
    if Hook.objects.active().filter(pk=hook.pk).update(revoked_at=now):
        record("hook.revoked", hook, company=hook.company, user=user, ip=ip)
    hook.refresh_from_db()


def secrets_by_key() -> Counter[str]:
    rows = Hook.objects.active().values_list("secret", "previous_secret")
    return Counter(key_id_of(text) for row in rows for text in row if text)


def rotate_keys() -> Counter[str]:
    """Re-encrypts all secrets with the current key; returns the counts by former key."""
    counts: Counter[str] = Counter()
    for pk in Hook.objects.values_list("pk", flat=True):
        with transaction.atomic():
            hook = Hook.objects.select_for_update(no_key=True).get(pk=pk)
            for name in ("secret", "previous_secret"):
                if text := getattr(hook, name):
                    counts[key_id_of(text)] += 1
                    setattr(hook, name, TEXTS.under_current_key(text))
            hook.save(update_fields=["secret", "previous_secret"])
    return counts
