"""Purges old e-mails, cache entries and sessions."""

from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone

from accounts.jobs import delete_rows
from accounts.models import CacheEntry, Mail, UserSession


def retention_cutoff() -> datetime:
    return timezone.now() - timedelta(days=settings.RAW_RETENTION)


def purge_mail(limit: int) -> int:
    oldest = Mail.objects.filter(created_at__lt=retention_cutoff()).order_by("created_at")
    return delete_rows(oldest, limit)


def purge_cache(limit: int) -> int:
    """Deletes expired entries: sign-in attempts by strangers would pile up."""
    over = CacheEntry.objects.filter(expires_at__lt=timezone.now()).order_by("expires_at")
    return CacheEntry.objects.filter(pk__in=over.values("pk")[:limit]).delete()[0]


def purge_sessions(limit: int) -> int:
    """Deletes expired sessions, both Django's rows and ours."""
    Session.objects.filter(
        pk__in=Session.objects.filter(expire_date__lt=timezone.now()).values("pk")[:limit]
    ).delete()
    dead = UserSession.objects.dead()
    return UserSession.objects.filter(pk__in=dead.values("pk")[:limit]).delete()[0]


PURGERS = [purge_mail, purge_cache, purge_sessions]
