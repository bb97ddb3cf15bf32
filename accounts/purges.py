"""The hourly purge deletes or anonymises expired data, in small batches."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connection, models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import jobs
from accounts.jobs import Job
from accounts.models import CacheEntry, Export, Mail, UserSession
from storage.months import partitions

log = structlog.get_logger(__name__)

BATCH_SIZE = 1000
# Deletes at most the given number of rows and returns how many; fewer means that none are left.
Purger = Callable[[int], int]
PURGES = Job("purges", _("deletion of expired data"))


def delete_rows(rows: models.QuerySet[Any], limit: int) -> int:
    """Deletes up to `limit` expired rows, in their order, with their dependants; returns the count.

    A row that the database refuses to delete does not hold up the others.
    """
    model = rows.model
    label = model._meta.label  # noqa: SLF001 - public in Django
    postponed = [name.partition(":") for name in PURGES.waiting()]
    due = rows.exclude(pk__in=[pk for job_label, _colon, pk in postponed if job_label == label])
    keys = list(due.values_list("pk", flat=True)[:limit])
    deleted = 0

    def delete(ids: Any) -> None:
        nonlocal deleted
        model._default_manager.filter(pk__in=ids).delete()  # noqa: SLF001 - public in Django
        deleted += len(ids)

    PURGES.write_batch(keys, delete, key=lambda pk: (label, pk))
    return deleted


def purge_exports(model: type[Export], limit: int) -> int:
    old = model._default_manager.filter(created_at__lt=timezone.now() - model.LIFETIME)  # noqa: SLF001 - public in Django
    batch = max(1, limit // 100)  # each has many parts
    deleted = delete_rows(old.order_by("created_at"), batch)
    return limit if deleted == batch else deleted


def retention_cutoff() -> datetime:
    return timezone.now() - timedelta(days=settings.RAW_RETENTION)


def purge_mail(limit: int) -> int:
    oldest = Mail.objects.filter(created_at__lt=retention_cutoff()).order_by("created_at")
    return delete_rows(oldest, limit)


def purge_cache(limit: int) -> int:
    """Deletes expired entries, which sign-in attempts by strangers would otherwise pile up."""
    expired = CacheEntry.objects.filter(expires_at__lt=timezone.now()).order_by("expires_at")
    return CacheEntry.objects.filter(pk__in=expired.values("pk")[:limit]).delete()[0]


def purge_sessions(limit: int) -> int:
    """Deletes Django's expired sessions, then rows of `UserSession` without one; returns the count.
    Both have their own limit: visitors' sessions have no such row.
    """
    expired = Session.objects.filter(expire_date__lt=timezone.now())
    count = Session.objects.filter(pk__in=expired.values("pk")[:limit]).delete()[0]
    dead = UserSession.objects.dead()
    return count + UserSession.objects.filter(pk__in=dead.values("pk")[:limit]).delete()[0]


# Each package adds its own in `declared`.
PURGERS: list[Purger] = [
    lambda _limit: partitions.create_upcoming(),
    jobs.purge,
    purge_mail,
    purge_cache,
    purge_sessions,
]


def purge() -> int:
    """Runs each step to its end, even after a failed one; returns the number of changed rows."""
    return sum(_in_batches(step) for step in PURGERS)


def _in_batches(step: Purger) -> int:
    total = 0
    count = BATCH_SIZE
    while count >= BATCH_SIZE:  # a step may count rows of several tables
        try:
            count = step(BATCH_SIZE)
        except Exception:
            # The next hourly run retries the rest of this step; the log entry raises the alarm.
            log.exception("purge_failed")
            connection.close_if_unusable_or_obsolete()
            return total
        total += count
    return total
