"""Links made in one request, taken together."""

from uuid import UUID

from accounts.models import Company, User
from config.errors import DomainError, Error
from config.ids import parse_id
from links import stopping
from links.models import Link
from links.new_link import Owner


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
