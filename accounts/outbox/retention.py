"""Removes events, letters, deleted endpoints and cache entries that outlived their use.

Events hold phones, so they go long before messages lose theirs.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone

from accounts.models import CacheEntry, Endpoint, Event, Mail, UserSession


def _retention_cutoff() -> datetime:
    return timezone.now() - timedelta(days=settings.RAW_RETENTION)


def purge_events(limit: int) -> int:
    """With their deliveries and attempts; returns how many events there were."""
    oldest = Event.objects.filter(created_at__lt=_retention_cutoff()).order_by("created_at")
    gone = Event.objects.filter(pk__in=oldest.values("pk")[:limit]).delete()
    return gone[1].get("accounts.Event", 0)


def purge_mail(limit: int) -> int:
    oldest = Mail.objects.filter(created_at__lt=_retention_cutoff()).order_by("created_at")
    return Mail.objects.filter(pk__in=oldest.values("pk")[:limit]).delete()[0]


def purge_endpoints(limit: int) -> int:
    """Those deleted so long ago that none of their history is left."""
    gone = Endpoint.objects.filter(deleted_at__lt=_retention_cutoff(), deliveries=None)
    return Endpoint.objects.filter(pk__in=gone.values("pk")[:limit]).delete()[0]


def purge_cache(limit: int) -> int:
    """What is over: nobody sees it any more, but tries by strangers would pile up."""
    over = CacheEntry.objects.filter(expires_at__lt=timezone.now()).order_by("expires_at")
    return CacheEntry.objects.filter(pk__in=over.values("pk")[:limit]).delete()[0]


def purge_sessions(limit: int) -> int:
    """Notes of sessions that ran out; Django's own rows of them as well."""
    Session.objects.filter(
        pk__in=Session.objects.filter(expire_date__lt=timezone.now()).values("pk")[:limit]
    ).delete()
    dead = UserSession.objects.dead()
    return UserSession.objects.filter(pk__in=dead.values("pk")[:limit]).delete()[0]


PURGERS = [purge_events, purge_mail, purge_endpoints, purge_cache, purge_sessions]
