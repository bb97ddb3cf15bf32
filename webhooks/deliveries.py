"""Lists, replays and purges deliveries; sends example events. `retries` says when they are due."""

from collections.abc import Sequence
from datetime import timedelta
from math import ceil
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.audit import record
from accounts.models import Company, User
from accounts.purges import delete_rows, retention_cutoff
from catalogue.errors import DomainError, Error
from catalogue.ids import public_id, uuid7
from storage.postgres_limits import count_in_postgres, end_of_utc_day
from webhooks import events
from webhooks.events import declaration_of
from webhooks.models import Delivery, DeliveryAttempt, Endpoint, Event, EventKind

State = Delivery.State

MAX_REPLAYS_PER_CALL = 1000
MAX_REPLAYS_PER_DAY = 50_000
EXAMPLE = "example:"  # the beginning of an example's key
MAX_MANUAL_PER_MINUTE = 20  # examples and replays of a company
TOO_MANY_PER_MINUTE = format_lazy(
    _("Up to {max} examples and replays a minute; try again a little later"),
    max=MAX_MANUAL_PER_MINUTE,
)
WITHDRAWN = _("The address no longer receives events of this kind: choose the kind again first")
TOO_MANY_PER_DAY = format_lazy(
    _("Up to {max} deliveries a day can be replayed; try again tomorrow"), max=MAX_REPLAYS_PER_DAY
)


def _count_manual_send(company_id: int) -> None:
    """Counts a manual send; raises `rate_limited` over the company's limit.

    These sends must not flood somebody else's server, however many of its URLs are registered.
    """
    now = timezone.now()
    end = now.replace(second=0, microsecond=0) + timedelta(minutes=1)
    key = f"webhooks-by-hand:{company_id}:{end:%Y%m%d%H%M}"
    if not count_in_postgres(key, limit=MAX_MANUAL_PER_MINUTE, end=end):
        wait = ceil((end - now).total_seconds())
        raise DomainError(Error.RATE_LIMITED, message=TOO_MANY_PER_MINUTE, retry_after=wait)


@transaction.atomic
def replay(*, delivery: Delivery, user: User, ip: str | None = None) -> None:
    """Sends the same event with the same id again, with the full retry schedule."""
    endpoint = delivery.endpoint
    if delivery.event.kind in events.kinds_withdrawn(endpoint.kinds):
        raise DomainError(Error.INVALID_INPUT, message=WITHDRAWN)
    _count_manual_send(endpoint.company_id)
    _requeue(endpoint.company_id, [delivery.pk])
    subject = f"{public_id('evt', delivery.event_id)} → {endpoint.url}"
    record("webhook.replayed", subject, company=endpoint.company, user=user, ip=ip)


@transaction.atomic
def replay_failed(*, endpoint: Endpoint, user: User, ip: str | None = None) -> int:
    """Replays failed deliveries, oldest first; returns their number."""
    _count_manual_send(endpoint.company_id)
    failed = Delivery.objects.filter(endpoint=endpoint, state=State.FAILED).exclude(
        event__kind__in=events.kinds_withdrawn(endpoint.kinds)
    )
    oldest = failed.order_by("created_at", "id").values_list("pk", flat=True)
    count = _requeue(endpoint.company_id, list(oldest[:MAX_REPLAYS_PER_CALL]))
    if count:
        subject = f"{count} → {endpoint.url}"
        record("webhook.replayed", subject, company=endpoint.company, user=user, ip=ip)
    return count


def _requeue(company_id: int, ids: Sequence[UUID]) -> int:
    """Makes deliveries due again; returns their number.

    Raises `rate_limited` over the company's daily limit, because each delivery stores its attempts.
    """
    now = timezone.now()
    end = end_of_utc_day(now)
    key = f"webhooks-replayed:{company_id}:{end:%Y%m%d}"
    if ids and not count_in_postgres(key, limit=MAX_REPLAYS_PER_DAY, end=end, count=len(ids)):
        wait = ceil((end - now).total_seconds())
        raise DomainError(Error.RATE_LIMITED, message=TOO_MANY_PER_DAY, retry_after=wait)
    count = Delivery.objects.filter(pk__in=ids).update(
        state=State.PENDING,
        due_at=now,
        round_at=now,
        tries=0,
        finished_at=None,
        claims=F("claims") + 1,  # a try of the previous round may be in flight: it ends nothing
    )
    events.wake_dispatcher(count)
    return count


@transaction.atomic
def send_example(*, endpoint: Endpoint, kind: str) -> Delivery:
    """Sends an example event to this endpoint only, signed like any other."""
    _count_manual_send(endpoint.company_id)
    event = Event.objects.create(
        company=endpoint.company,
        mode=endpoint.mode,
        kind=kind,
        key=f"{EXAMPLE}{uuid7().hex}",
        data=example(kind, is_test=endpoint.mode == "test"),
        at=timezone.now(),
    )
    delivery = Delivery.objects.create(endpoint=endpoint, event=event)
    events.wake_dispatcher(1)
    return delivery


def example(kind: str, *, is_test: bool) -> dict[str, Any]:
    """Sample data of an event; only samples have the field `example`."""
    now = timezone.now().replace(microsecond=0)
    event_kind = EventKind(kind)
    data = declaration_of(event_kind).example(event_kind, uuid7().hex, now)
    return {**data, "test": is_test, "example": True}


def with_last_attempt(endpoint: Endpoint, *, only_failed: bool) -> QuerySet[Delivery]:
    """Annotates deliveries with `last_status` and `last_error` of their last attempt."""
    last = DeliveryAttempt.objects.filter(delivery=OuterRef("pk")).order_by("-started_at", "-id")
    rows = Delivery.objects.filter(endpoint=endpoint).select_related("event")
    if only_failed:
        rows = rows.filter(state=State.FAILED)
    return rows.annotate(
        last_status=Subquery(last.values("status")[:1]),
        last_error=Subquery(last.values("error")[:1]),
    )


def has_failed(endpoint: Endpoint) -> bool:
    return Delivery.objects.filter(endpoint=endpoint, state=State.FAILED).exists()


def of_company(company: Company) -> QuerySet[Delivery]:
    return Delivery.objects.filter(
        endpoint__company=company, endpoint__deleted_at=None
    ).select_related("event", "endpoint__company")


def purge_events(limit: int) -> int:
    """Deletes events with their deliveries and attempts; returns the number of events.

    Events contain phones, so they are purged long before messages are anonymised.
    """
    oldest = Event.objects.filter(created_at__lt=retention_cutoff()).order_by("created_at")
    return delete_rows(oldest, limit)


def purge_endpoints(limit: int) -> int:
    """Deletes soft-deleted endpoints once all their deliveries are purged."""
    gone = Endpoint.objects.filter(deleted_at__lt=retention_cutoff(), deliveries=None)
    return delete_rows(gone, limit)
