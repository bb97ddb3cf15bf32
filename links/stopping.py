"""All links of a company, or of one batch, lead nowhere from one moment to the next, and back."""

from uuid import UUID

from django.db import transaction

from accounts.models import Company, User
from accounts.services import record
from config.ids import public_id
from links.models import Stop


@transaction.atomic
def stop(
    *,
    company: Company,
    batch_id: UUID | None = None,
    user: User | None = None,
    ip: str | None = None,
) -> None:
    _row, is_new = Stop.objects.get_or_create(company=company, batch_id=batch_id)
    if is_new:
        record("links.stopped", _name(company, batch_id), company=company, user=user, ip=ip)


@transaction.atomic
def release(
    *,
    company: Company,
    batch_id: UUID | None = None,
    user: User | None = None,
    ip: str | None = None,
) -> None:
    gone, _rows = Stop.objects.filter(company=company, batch_id=batch_id).delete()
    if gone:
        record("links.released", _name(company, batch_id), company=company, user=user, ip=ip)


def _name(company: Company, batch_id: UUID | None) -> str:
    return public_id("bat", batch_id) if batch_id else str(company)
