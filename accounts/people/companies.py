"""Operations on companies and API keys. Each is one transaction and one audit event."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit import changes_of, record
from accounts.keys import api_keys
from accounts.models import ApiKey, Company, Member, Mode, Scope, User, every_scope, scopes_of_role
from accounts.outbox import mail
from accounts.people import members
from accounts.security.notifications import post_company_change
from catalogue import languages

MAX_ACTIVE_KEYS = 5
MAX_WHILE_ROTATING = 2 * MAX_ACTIVE_KEYS  # every key may overlap with its successor for a day
MAX_NEW_KEYS = 100  # in a day: ended ones are kept, and pages with a choice of keys read them all
PREFIX_LENGTH = 12
STATUS_EMAIL_TEMPLATES = {
    Company.Status.APPROVED: "company_approved",
    Company.Status.SUSPENDED: "company_suspended",
}


@transaction.atomic
def sign_up_company(
    *, user: User, name: str, country: str = "RU", language: str = "", ip: str | None = None
) -> Company:
    """Creates a company owned by the user; its live keys work once it is approved.

    Its messages are in the language of its country unless `language` is given.
    """
    language = language or languages.of_country(country)
    status = Company.Status.APPROVED if settings.AUTO_APPROVE_COMPANIES else Company.Status.PENDING
    company = Company.objects.create(name=name, country=country, language=language, status=status)
    Member.objects.create(company=company, user=user, role=Member.Role.OWNER)
    record("company.created", company, company=company, user=user, ip=ip)
    return company


@transaction.atomic
def change_status(
    *,
    company: Company,
    status: Company.Status,
    user: User,
    reason: str = "",
    tokens: int = 0,
    ip: str | None = None,
) -> None:
    """`tokens`: granted in the same transaction; the e-mail names them."""
    company.status = status
    company.save(update_fields=["status"])
    subject = f"{company}: {reason}" if reason else company
    record(f"company.{status}", subject, company=company, user=user, ip=ip)
    if status in STATUS_EMAIL_TEMPLATES:
        mail.post_to_members(
            company=company,
            roles=[Member.Role.OWNER],
            template=STATUS_EMAIL_TEMPLATES[status],
            context={"reason": reason, "tokens": tokens},
        )
    _evict_after_commit(company.api_keys.all())


@transaction.atomic
def change_settings(
    *,
    company: Company,
    user: User,
    changes: Mapping[str, object],
    ip: str | None = None,
    version: str | None = None,
) -> list[str]:
    """Saves the changed fields; returns their names.

    With the `version` of the fields that the form was filled in for, raises StaleSettingsError if
    somebody else has changed one of them since.
    """
    stored = Company.objects.select_for_update(no_key=True).get(pk=company.pk)
    if version is not None and version != settings_version(stored, changes):
        raise StaleSettingsError(stored)
    changed = [name for name, value in changes.items() if getattr(stored, name) != value]
    if not changed:
        return []
    values = changes_of(stored, changes)
    for name in changed:
        setattr(stored, name, changes[name])
    stored.save(update_fields=changed)
    subject = ", ".join(values)
    record("settings.changed", subject, company=company, user=user, ip=ip, changes=values)
    _evict_after_commit(company.api_keys.active())
    return changed


class StaleSettingsError(Exception):
    """`stored` has what somebody else has saved since the form was opened."""

    def __init__(self, stored: Company) -> None:
        super().__init__(stored.pk)
        self.stored = stored


def settings_version(company: Company, names: Iterable[str]) -> str:
    """A fingerprint of the values of some settings: another one when any of them differs."""
    values = {name: getattr(company, name) for name in names}
    text = json.dumps(values, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


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
    """Creates a key; returns it with its plaintext, which is not stored. Without `scopes` it may do
    all that its maker may give; with a `purpose` it is for another service's client, which may
    sign tokens that the `public_key` proves.
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
    last_day = timezone.now() + ApiKey.ROTATION
    if not key.is_active or key.is_ending:
        raise ValidationError(
            _("This key is already being replaced. Create a new one."), code="ending"
        )
    same = ("company", "mode", "name", "allowed_ips", "expires_at", "day_limit", "purpose")
    successor, plaintext = _issue(
        created_by=user,
        scopes=_scopes_within(key.scopes, key.company, user),
        **{name: getattr(key, name) for name in (*same, "public_key")},
    )
    key.expires_at = last_day
    key.save(update_fields=["expires_at"])
    record("key.rotated", f"{key.name} {key} → {successor}", company=key.company, user=user, ip=ip)
    _mail_about_live_key("key.rotated", successor, user, ip)
    _evict_after_commit([key])
    return successor, plaintext


@transaction.atomic
def revoke_api_key(*, key: ApiKey, user: User, ip: str | None = None) -> None:
    """Revokes a key, at once in this process and within two seconds in others."""
    if not ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now()):
        return
    record("key.revoked", f"{key.name} {key}", company=key.company, user=user, ip=ip)
    _evict_after_commit([key])


def _scopes_within(scopes: Iterable[str], company: Company, user: User) -> list[str]:
    """What this member may give a key of these scopes; raises if nothing is left of them."""
    role = company.members.filter(user=user).values_list("role", flat=True).first()
    allowed = scopes_of_role(role)
    if not (left := [str(scope) for scope in scopes if scope in allowed]):
        raise ValidationError(_("Your role may give a key none of these rights."), code="scopes")
    return left


def _mail_about_live_key(kind: str, key: ApiKey, user: User, ip: str | None) -> None:
    if key.mode == Mode.LIVE:
        post_company_change(kind, company=key.company, user=user, ip=ip, key=f"{key.name} {key}")


def _check_new_key(company: Company, user: User, limit: int) -> None:
    # The company's row is the lock: a parallel request waits here.
    Company.objects.select_for_update(no_key=True).get(pk=company.pk)
    members.require_key_maker(company, user)
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
    plaintext = api_keys.generate(mode)
    key = ApiKey.objects.create(
        mode=mode,
        prefix=plaintext[:PREFIX_LENGTH],
        last4=plaintext[-4:],
        digest=api_keys.digest(plaintext),
        **fields,
    )
    return key, plaintext


def evict_keys(company: Company) -> None:
    """Evicts the company's keys after the commit; other processes reload within two seconds."""
    _evict_after_commit(company.api_keys.active())


def _evict_after_commit(several: Iterable[ApiKey]) -> None:
    digests = [bytes(key.digest) for key in several]

    def forget() -> None:
        for digest in digests:
            api_keys.evict(digest)

    # Before the commit another thread could read the old row back into the cache.
    transaction.on_commit(forget)
