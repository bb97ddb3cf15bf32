"""Creates, rotates and revokes API keys. Each is one transaction and one audit event."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit import record
from accounts.keys import api_keys, key_format
from accounts.models import ApiKey, Company, Mode, Scope, User, every_scope, scopes_of_role
from accounts.people import members
from accounts.security.notifications import post_company_change

MAX_ACTIVE_KEYS = 5
MAX_WHILE_ROTATING = 2 * MAX_ACTIVE_KEYS  # every key may overlap with its successor for a day
# Per day: expired keys are kept, and pages that list keys to choose from read them all.
MAX_NEW_KEYS = 100
PREFIX_LENGTH = 12


@transaction.atomic
def create_api_key(
    *,
    company: Company,
    user: User,
    mode: str,
    name: str,
    scopes: Iterable[Scope | str] | None = None,
    purpose: str = "",
    public_key: str = "",
    allowed_ips: Iterable[str] = (),
    expires_at: datetime | None = None,
    ip: str | None = None,
) -> tuple[ApiKey, str]:
    """Creates a key; returns it with its plaintext, which is not stored. Without `scopes` the key
    gets every scope that its creator may give; with a `purpose` it serves another service's client,
    which may sign tokens that the `public_key` verifies.
    """
    if purpose:
        scopes = [Scope.VERIFY]
    _check_new_key(company, user, MAX_ACTIVE_KEYS)
    key, plaintext = _issue(
        company=company,
        created_by=user,
        mode=mode,
        name=name,
        scopes=_scopes_within(every_scope() if scopes is None else scopes, company, user),
        allowed_ips=list(allowed_ips),
        expires_at=expires_at,
        purpose=purpose,
        public_key=public_key,
    )
    action = "key.verify_created" if purpose else "key.created"
    record(action, f"{key.name} {key}", company=company, user=user, ip=ip)
    _mail_about_live_key("key.created", key, user, ip)
    return key, plaintext


@transaction.atomic
def rotate_api_key(*, key: ApiKey, user: User, ip: str | None = None) -> tuple[ApiKey, str]:
    """Creates a successor with the same rights, as far as this user may give them; the old key
    works for another 24 hours.
    """
    _check_new_key(key.company, user, MAX_WHILE_ROTATING)
    key.refresh_from_db(from_queryset=ApiKey.objects.select_for_update(no_key=True))
    ends_at = timezone.now() + ApiKey.ROTATION
    if not key.is_active or key.is_ending:
        raise ValidationError(
            _("This key has ended or ends within a day. Create a new one."), code="ending"
        )
    same = ("company", "mode", "name", "allowed_ips", "expires_at", "day_limit", "purpose")
    successor, plaintext = _issue(
        created_by=user,
        scopes=_scopes_within(key.scopes, key.company, user),
        **{name: getattr(key, name) for name in (*same, "public_key")},
    )
    key.expires_at = ends_at
    key.save(update_fields=["expires_at"])
    record("key.rotated", f"{key.name} {key} → {successor}", company=key.company, user=user, ip=ip)
    _mail_about_live_key("key.rotated", successor, user, ip)
    api_keys.evict_after_commit([key])
    return successor, plaintext


@transaction.atomic
def revoke_api_key(*, key: ApiKey, user: User, ip: str | None = None) -> None:
    """Revokes a key, at once in this process and within two seconds in others."""
    if not ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now()):
        return
    record("key.revoked", f"{key.name} {key}", company=key.company, user=user, ip=ip)
    api_keys.evict_after_commit([key])


def _scopes_within(scopes: Iterable[str], company: Company, user: User) -> list[str]:
    """The requested scopes that this member may give a key; raises ValidationError if there are
    none.
    """
    role = company.members.filter(user=user).values_list("role", flat=True).first()
    allowed = scopes_of_role(role)
    if not (granted := [str(scope) for scope in scopes if scope in allowed]):
        raise ValidationError(_("Your role may not give a key any of these rights."), code="scopes")
    return granted


def _mail_about_live_key(kind: str, key: ApiKey, user: User, ip: str | None) -> None:
    if key.mode == Mode.LIVE:
        post_company_change(kind, company=key.company, user=user, ip=ip, key=f"{key.name} {key}")


def _check_new_key(company: Company, user: User, limit: int) -> None:
    members.lock_for_key_manager(company, user)  # a parallel request waits here
    if company.api_keys.active().count() >= limit:
        raise ValidationError(
            _("A company can have up to %(limit)d active keys. Revoke one first."),
            code="too_many_keys",
            params={"limit": limit},
        )
    a_day_ago = timezone.now() - timedelta(days=1)
    if company.api_keys.filter(created_at__gt=a_day_ago).count() >= MAX_NEW_KEYS:
        raise ValidationError(
            _("%(n)d keys were created in a day, which is the maximum. Try again tomorrow."),
            code="too_many_new_keys",
            params={"n": MAX_NEW_KEYS},
        )


def _issue(*, mode: str, **fields: Any) -> tuple[ApiKey, str]:
    plaintext = key_format.generate(mode)
    key = ApiKey.objects.create(
        mode=mode,
        prefix=plaintext[:PREFIX_LENGTH],
        last4=plaintext[-4:],
        digest=key_format.digest(plaintext),
        **fields,
    )
    return key, plaintext
