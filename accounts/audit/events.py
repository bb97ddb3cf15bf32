"""Writes audit events in the transaction of the audited change."""

from accounts.audit.values import Changes
from accounts.models import AuditEvent, Company, User


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
