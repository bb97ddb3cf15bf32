"""Stops all links of a company or a batch at once, and releases them again.

Every process learns of it within a second (`links.follow.change_feed`). No link's row changes: a
link that expired or was disabled meanwhile stays so.
"""

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Min
from django.urls import reverse
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.audit import record
from accounts.models import Company, User
from api.authentication import SUSPENDED
from catalogue.errors import DomainError, Error
from catalogue.ids import parse_id, public_id
from links.follow import resolution
from links.make.new_link import Owner
from links.models import Link, Stop

BY_OPERATOR = _("The operator of the service stopped these links, and only they can release them")
STOPPED = "links.stopped"
RELEASED = "links.released"
# Stops of a company. Every process reads the stops of all companies each second.
MAX_STOPPED_BATCHES = 500
TOO_MANY = format_lazy(
    _("A company has up to {max} stopped batches: release some, or stop all of its links"),
    max=MAX_STOPPED_BATCHES,
)


@transaction.atomic
def stop(
    *,
    company: Company,
    batch_id: UUID | None = None,
    user: User | None = None,
    ip: str | None = None,
    by_operator: bool = False,
) -> bool:
    """Stops a batch, or without one all the company's links; False if they are stopped already.

    Raises `invalid_input` beyond the maximum number of batches, which does not apply to the
    operator.
    """
    _lock_company(company)
    stops = Stop.objects.filter(company=company)
    row = stops.filter(batch_id=batch_id).first()
    if row is not None:
        if by_operator and not row.is_operators:
            Stop.objects.filter(pk=row.pk).update(is_operators=True)
        return False
    is_bounded = batch_id is not None and not by_operator
    if is_bounded and stops.exclude(batch_id=None).count() >= MAX_STOPPED_BATCHES:
        raise DomainError(Error.INVALID_INPUT, message=TOO_MANY)
    Stop.objects.create(company=company, batch_id=batch_id, is_operators=by_operator)
    _record(STOPPED, company, batch_id, user, ip)
    return True


@transaction.atomic
def release(
    *,
    company: Company,
    batch_id: UUID | None = None,
    user: User | None = None,
    ip: str | None = None,
    by_operator: bool = False,
) -> bool:
    """Releases a stop; False if nothing is stopped.

    It is also False for a deleted company, whose links have ended. A stop of the company survives
    the release of a batch. Raises `forbidden` for a stop by the operator, and while the company is
    suspended.
    """
    stored = _lock_company(company)
    if stored.deleted_at is not None:
        return False
    if not by_operator:
        check_not_suspended(stored)
    stops = Stop.objects.filter(company=company, batch_id=batch_id)
    if not by_operator and stops.filter(is_operators=True).exists():
        raise DomainError(Error.FORBIDDEN, message=BY_OPERATOR)
    count, _by_model = stops.delete()
    if count:
        _record(RELEASED, company, batch_id, user, ip)
    return bool(count)


def check_not_suspended(company: Company) -> None:
    """Refuses a change while the company is suspended.

    Its links stay as they are, so that nobody in it can lead their visitors elsewhere.
    """
    if company.status == Company.Status.SUSPENDED:
        raise DomainError(Error.FORBIDDEN, message=SUSPENDED)


def _lock_company(company: Company) -> Company:
    """Locks the company, so that its stops and releases are serialised even without a stop.

    The change is published even if nothing changed: this may be the retry of a request that died
    between its commit and publishing.
    """
    stored = Company.objects.select_for_update(no_key=True).get(pk=company.pk)
    transaction.on_commit(resolution.publish_stop_change)
    return stored


def _record(
    action: str, company: Company, batch_id: UUID | None, user: User | None, ip: str | None
) -> None:
    subject = public_id("bat", batch_id) if batch_id else str(company)
    record(action, subject, company=company, user=user, ip=ip)


@dataclass(frozen=True, slots=True)
class BatchSummary:
    id: UUID
    mode: str
    count: int
    created_at: datetime
    stop: Stop | None

    @property
    def public_id(self) -> str:
        return public_id("bat", self.id)

    @property
    def url(self) -> str:
        return f"{reverse('link-list')}?{urlencode({'mode': self.mode, 'batch': self.public_id})}"


def batch_summary(company: Company, mode: str, public_id: str) -> BatchSummary | None:
    batch_id = parse_id("bat", public_id)
    if batch_id is None:
        return None
    links = Link.objects.filter(company=company, mode=mode, batch_id=batch_id)
    totals = links.aggregate(count=Count("pk"), created_at=Min("created_at"))
    stop = company.link_stops.filter(batch_id=batch_id).first()
    return BatchSummary(batch_id, mode, stop=stop, **totals) if totals["count"] else None


def find_batch(*, owner: Owner, public_id: str) -> tuple[Company, UUID]:
    """The company and the batch of a public id.

    Raises `not_found` if no link of the owner's mode is in such a batch.
    """
    batch_id = parse_id("bat", public_id)
    links = Link.objects.filter(
        company_id=owner.company_id, mode=owner.mode, batch_id=batch_id, batch_id__isnull=False
    )
    if batch_id is None or not links.exists():
        raise DomainError(Error.NOT_FOUND)
    return Company.objects.get(pk=owner.company_id), batch_id
