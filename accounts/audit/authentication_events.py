"""Authentication events: an audit event without a company, and a log line."""

import structlog
from django.http import HttpRequest

from accounts.audit import events
from accounts.client_ip import address_of
from accounts.models import User

log = structlog.get_logger(__name__)


def record(
    action: str, *, user: User | None, request: HttpRequest | None, subject: object = ""
) -> None:
    """The subject is not logged, since it may be an e-mail address. It is never a secret."""
    ip = address_of(request)
    events.record(action, subject, company=None, user=user, ip=ip)
    log.info("authentication_event", action=action, user=user.pk if user else None, ip=ip)
