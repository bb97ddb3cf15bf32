"""Batches: the links made in one request."""

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Count, Min
from django.urls import reverse

from accounts.models import Company, User
from config.errors import DomainError, Error
from config.ids import parse_id, public_id
from links.make.new_link import Owner
from links.manage import stopping
from links.models import Link, Stop


@dataclass(frozen=True, slots=True)
class BatchSummary:
    """A batch as the cabinet shows it."""

    id: UUID
    mode: str
    count: int
    made_at: datetime
    stop: Stop | None

    @property
    def public_id(self) -> str:
        return public_id("bat", self.id)

    @property
    def url(self) -> str:
        return f"{reverse('link-list')}?{urlencode({'mode': self.mode, 'batch': self.public_id})}"


def summary(company: Company, mode: str, public_id: str) -> BatchSummary | None:
    batch_id = parse_id("bat", public_id)
    if batch_id is None:
        return None
    links = Link.objects.filter(company=company, mode=mode, batch_id=batch_id)
    made = links.aggregate(count=Count("pk"), made_at=Min("created_at"))
    stop = company.link_stops.filter(batch_id=batch_id).first()
    return BatchSummary(batch_id, mode, stop=stop, **made) if made["count"] else None


def find(*, owner: Owner, public_id: str) -> UUID:
    """Raises `not_found` when no link of the owner's mode is in such a batch."""
    batch_id = parse_id("bat", public_id)
    links = Link.objects.filter(
        company_id=owner.company_id, mode=owner.mode, batch_id=batch_id, batch_id__isnull=False
    )
    if batch_id is None or not links.exists():
        raise DomainError(Error.NOT_FOUND)
    return batch_id


def stop(*, owner: Owner, public_id: str, user: User | None = None, ip: str | None = None) -> None:
    batch_id = find(owner=owner, public_id=public_id)
    company = Company.objects.get(pk=owner.company_id)
    stopping.stop(company=company, batch_id=batch_id, user=user, ip=ip)


def release(
    *, owner: Owner, public_id: str, user: User | None = None, ip: str | None = None
) -> None:
    batch_id = find(owner=owner, public_id=public_id)
    company = Company.objects.get(pk=owner.company_id)
    stopping.release(company=company, batch_id=batch_id, user=user, ip=ip)
