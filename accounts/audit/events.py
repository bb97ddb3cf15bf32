"""The audit log: who did what, written in the transaction that did it."""

from accounts.models import AuditEvent, Company, User


def record(
    action: str,
    subject: object,
    *,
    company: Company | None,
    user: User | None,
    ip: str | None = None,
) -> AuditEvent:
    """One audit event; the caller's transaction decides whether it happened."""
    return AuditEvent.objects.create(
        action=action,
        subject=str(subject)[:200],
        company=company,
        user=user,
        actor=user.email if user else "",
        ip=ip or None,
    )
