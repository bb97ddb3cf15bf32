"""Operations on companies. Each is one transaction and one audit event."""

import hashlib
import json
from collections.abc import Iterable, Mapping

from django.conf import settings
from django.db import transaction

from accounts.audit import record, save_changes
from accounts.keys import api_keys
from accounts.models import Company, Member, User
from accounts.models.companies import DEFAULT_COUNTRY
from accounts.outbox import mail
from catalogue.languages import message_languages

STATUS_EMAIL_TEMPLATES = {
    Company.Status.APPROVED: "company_approved",
    Company.Status.SUSPENDED: "company_suspended",
}


@transaction.atomic
def sign_up_company(
    *,
    user: User,
    name: str,
    country: str = DEFAULT_COUNTRY,
    language: str = "",
    ip: str | None = None,
) -> Company:
    """Creates a company owned by the user; its live keys work once it is approved.

    Its messages are in the language of its country unless `language` is given.
    """
    language = language or message_languages.of_country(country)
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
    """Changes the status, and e-mails the owners about an approval or a suspension.

    `tokens` are granted by the caller in the same transaction; the e-mail names them.
    """
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
    api_keys.evict_after_commit(company.api_keys.all())


@transaction.atomic
def change_settings(
    *,
    company: Company,
    user: User,
    changes: Mapping[str, object],
    ip: str | None = None,
    version: str | None = None,
) -> None:
    """Saves the changed fields.

    `version` is that of the fields when the form was opened: raises StaleSettingsError if somebody
    else has changed one of them since.
    """
    stored = Company.objects.select_for_update(no_key=True).get(pk=company.pk)
    if version is not None and version != settings_version(stored, changes):
        raise StaleSettingsError(stored)
    if values := save_changes(stored, changes):
        subject = ", ".join(values)
        record("settings.changed", subject, company=company, user=user, ip=ip, changes=values)
        api_keys.evict_keys(company)


class StaleSettingsError(Exception):
    """`stored` has the values that somebody else has saved since the form was opened."""

    def __init__(self, stored: Company) -> None:
        super().__init__(stored.pk)
        self.stored = stored


def settings_version(company: Company, names: Iterable[str]) -> str:
    """A fingerprint of the values of these settings."""
    values = {name: getattr(company, name) for name in names}
    text = json.dumps(values, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]
