"""Writes to owners and developers about endpoints that accept nothing, before they are disabled.

After an hour: a deployment or a short outage of the receiver is over by then, and most of a day is
left to mend it before retries end.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job
from accounts.models import Endpoint
from accounts.outbox import mail
from accounts.webhooks.endpoints import NOTIFIED_ROLES

JOB = Job("webhook_warnings", _("warnings about failing webhooks"))
PATIENCE = timedelta(hours=1)
# A receiver that fails and recovers all day long is one warning, not twenty.
PAUSE = timedelta(days=1)


def warn() -> None:
    now = timezone.now()
    due = _due(now).select_related("company").order_by("pk")
    JOB.each(due, lambda endpoint: _warn(endpoint, now))


def _due(now: datetime) -> QuerySet[Endpoint]:
    return Endpoint.objects.filter(
        Q(warned_at=None) | Q(warned_at__lte=now - PAUSE),
        disabled_at=None,
        deleted_at=None,
        failing_since__lte=now - PATIENCE,
    )


@transaction.atomic  # one for each: the outcomes of further calls wait for its row
def _warn(endpoint: Endpoint, now: datetime) -> None:
    if not _due(now).filter(pk=endpoint.pk).update(warned_at=now):
        return  # it is well again, or another worker writes
    page = reverse("webhook-detail", args=[endpoint.public_id])
    mail.post_to_members(
        company=endpoint.company,
        roles=NOTIFIED_ROLES,
        template="endpoint_failing",
        context={"endpoint": endpoint, "page_url": f"{settings.PUBLIC_URL}{page}"},
    )
