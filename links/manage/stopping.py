"""Stops all links of a company or of a batch at once, and releases them again.

Every process knows within a second (`links.follow.change_feed`). No link's row changes: a link that
expired or was disabled meanwhile stays so.
"""

from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from accounts.audit.events import record
from accounts.models import Company, User
from config.errors import DomainError, Error
from config.ids import public_id
from links.follow import resolution
from links.models import Stop

BY_OPERATOR = _("The operator of the service stopped these links, and only they can release them")
STOPPED, RELEASED = "links.stopped", "links.released"


@transaction.atomic
def stop(
    *,
    company: Company,
    batch_id: UUID | None = None,
    user: User | None = None,
    ip: str | None = None,
    by_operator: bool = False,
) -> bool:
    """Without a batch, stops all the company's links. Returns False when already stopped."""
    _lock_company(company)
    row, is_new = Stop.objects.get_or_create(company=company, batch_id=batch_id)
    if by_operator and not row.is_operators:
        Stop.objects.filter(pk=row.pk).update(is_operators=True)
    if is_new:
        _record(STOPPED, company, batch_id, user, ip)
    return is_new


@transaction.atomic
def release(
    *,
    company: Company,
    batch_id: UUID | None = None,
    user: User | None = None,
    ip: str | None = None,
    by_operator: bool = False,
) -> bool:
    """Returns False when nothing is stopped. A stop of the company survives the release of a batch.
    Raises `forbidden` for a stop by the operator.
    """
    _lock_company(company)
    stops = Stop.objects.filter(company=company, batch_id=batch_id)
    if not by_operator and stops.filter(is_operators=True).exists():
        raise DomainError(Error.FORBIDDEN, message=BY_OPERATOR)
    count, _ = stops.delete()
    if count:
        _record(RELEASED, company, batch_id, user, ip)
    return bool(count)


def _lock_company(company: Company) -> None:
    """Serialises stops and releases of a company, with or without a stop to lock.

    The change is published even when nothing changed: this may be the retry of a request that died
    between its commit and publishing.
    """
    Company.objects.select_for_update(no_key=True).get(pk=company.pk)
    transaction.on_commit(resolution.publish_stop_change)


def _record(
    action: str, company: Company, batch_id: UUID | None, user: User | None, ip: str | None
) -> None:
    subject = public_id("bat", batch_id) if batch_id else str(company)
    record(action, subject, company=company, user=user, ip=ip)
