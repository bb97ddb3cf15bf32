"""Mails to the operators of the service."""

import hashlib
from collections.abc import Mapping
from typing import Any

from accounts.models import User
from accounts.outbox import mail


def notify_operators(*, template: str, context: Mapping[str, Any], about: str) -> None:
    """Mails each operator in their language, at most once per `about`, which may be long."""
    digest = hashlib.sha256(about.encode()).hexdigest()[:40]
    for user in User.objects.filter(is_staff=True, is_active=True).order_by("pk"):
        mail.post(
            template=template,
            to=user.email,
            language=user.language,
            context=context,
            key=f"{template}:{digest}:{user.pk}",
        )
