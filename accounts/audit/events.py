"""Writes audit events in the transaction of the audited change."""

import structlog
from django.http import HttpRequest

from accounts.audit.values import Changes
from accounts.client_ip import address_of
from accounts.models import AuditEvent, Company, User

log = structlog.get_logger(__name__)


def record(
    action: str,
    subject: object,
    *,
    company: Company | None,
    user: User | None,
    ip: str | None = None,
    changes: Changes | None = None,
) -> AuditEvent:
    """Store an audit event in the caller's transaction."""
    return AuditEvent.objects.create(
        action=action,
        subject=str(subject)[:200],
        company=company,
        user=user,
        actor=user.email if user else "",
        ip=ip or None,
        changes=changes or None,
    )


def record_authentication_event(
    action: str, *, user: User | None, request: HttpRequest | None, subject: object = ""
) -> None:
    """An audit event without a company, and a log line.

    The subject is not logged, since it may be an e-mail address. It is never a secret.
    """
    ip = address_of(request)
    record(action, subject, company=None, user=user, ip=ip)
    log.info("authentication_event", action=action, user=user.pk if user else None, ip=ip)
