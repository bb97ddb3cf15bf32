"""E-mails to the operators of the service."""

import hashlib
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from accounts.models import User
from accounts.outbox import mail


def recipients() -> list[tuple[str, str]]:
    """Addresses and their languages: OPERATOR_EMAILS, or else everyone who may open the admin."""
    if settings.OPERATOR_EMAILS:
        return [(address, settings.OPERATOR_LANGUAGE) for address in settings.OPERATOR_EMAILS]
    staff = User.objects.filter(is_staff=True, is_active=True).order_by("pk")
    return list(staff.values_list("email", "language"))


def notify_operators(*, template: str, context: Mapping[str, Any], key: str) -> None:
    """Sends an e-mail to each operator in their language, at most once per `key` of any length."""
    digest = hashlib.sha256(key.encode()).hexdigest()[:40]
    for address, language in recipients():
        mail.post(
            template=template,
            to=address,
            language=language,
            context=context,
            key=f"{template}:{digest}:{hashlib.sha256(address.encode()).hexdigest()[:16]}",
        )
