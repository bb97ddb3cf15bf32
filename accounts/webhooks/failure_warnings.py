"""Writes to owners and developers about endpoints that accept nothing, before they are disabled.

After an hour: a deployment or a short outage of the receiver is over by then, and most of a day is
left to mend it before retries end.
"""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from accounts.models import Endpoint
from accounts.outbox import mail
from accounts.webhooks.endpoints import NOTIFIED_ROLES

PATIENCE = timedelta(hours=1)
# A receiver that fails and recovers all day long is one warning, not twenty.
PAUSE = timedelta(days=1)


@transaction.atomic
def warn() -> None:
    now = timezone.now()
    failing = Endpoint.objects.filter(
        Q(warned_at=None) | Q(warned_at__lte=now - PAUSE),
        disabled_at=None,
        deleted_at=None,
        failing_since__lte=now - PATIENCE,
    )
    locked = failing.select_for_update(of=["self"], no_key=True, skip_locked=True)
    for endpoint in locked.select_related("company").order_by("pk"):
        Endpoint.objects.filter(pk=endpoint.pk).update(warned_at=now)
        page = reverse("webhook-detail", args=[endpoint.public_id])
        mail.post_to_members(
            company=endpoint.company,
            roles=NOTIFIED_ROLES,
            template="endpoint_failing",
            context={"endpoint": endpoint, "page_url": f"{settings.PUBLIC_URL}{page}"},
        )
