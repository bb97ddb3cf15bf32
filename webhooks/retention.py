"""Purges old events and deleted endpoints.

Events hold phones, so they are purged long before messages are anonymised.
"""

from accounts.jobs import delete_rows
from accounts.outbox.retention import retention_cutoff
from webhooks.models import Endpoint, Event


def purge_events(limit: int) -> int:
    """Deletes events with their deliveries and attempts; returns the number of events."""
    oldest = Event.objects.filter(created_at__lt=retention_cutoff()).order_by("created_at")
    return delete_rows(oldest, limit)


def purge_endpoints(limit: int) -> int:
    """Deletes soft-deleted endpoints once all their deliveries are purged."""
    gone = Endpoint.objects.filter(deleted_at__lt=retention_cutoff(), deliveries=None)
    return delete_rows(gone, limit)


PURGERS = [purge_events, purge_endpoints]
