"""Changes links: one, those of ended codes, or all that lead to a blocked site."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit import changes_between, record
from accounts.masked_phones import mask_phones_in
from accounts.models import Company, User
from catalogue.errors import DomainError, Error
from catalogue.texts import StrOrPromise
from channels import sql as channels_sql
from channels.outcomes import transitions
from links.addresses import target_urls
from links.follow import resolution
from links.make.new_link import PENDING_LIFETIME
from links.manage.stopping import check_not_suspended
from links.models import Link
from storage.statements import sql_files

_DISABLE_WITH_CODES = sql_files.read("links/manage/disable_with_codes.sql")
AUDITED_FIELDS = ("url", "expired_url", "utm", "expires_at")
USED = _("This link opens once and has already been opened; create a new one")
STOPPED = _(
    "This link is stopped with its batch or with all links of the company; release those first"
)
NO_EXPIRED_URL_YET = _("expired_url works once the company is approved")
BARRED = _("The operator of the service disabled this link, and only they can enable it")


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a link; None leaves a field as it is.

    `lifetime` is in seconds from now; `is_endless` means forever. While a company awaits approval,
    a link lives PENDING_LIFETIME at most.
    """

    url: str | None = None
    lifetime: int | None = None
    is_endless: bool = False
    is_enabled: bool | None = None
    by_operator: bool = False  # then only the operator can enable it again
    expired_url: str | None = None
    utm: str | None = None


@transaction.atomic
def change(
    *, link: Link, new_values: Change, user: User | None = None, ip: str | None = None
) -> Link:
    """Changes a link, and returns it.

    Raises `alias_taken` if its alias was reassigned meanwhile, and `url_not_allowed` if a link to a
    blocked site is to be enabled.
    """
    link = Link.objects.select_for_update(of=("self",)).select_related("company").get(pk=link.pk)
    _refuse_forbidden(link, new_values)
    before = _audit_values(link)
    fields = _apply(link, new_values)
    if fields:
        resolution.invalidate_before_commit(link)
        link.save(update_fields=fields)
        if link.disabled_at is not None:
            _cancel_messages([link])
        action = "link.disabled" if new_values.is_enabled is False else "link.changed"
        values = changes_between(before, _audit_values(link))
        record(
            action,
            mask_phones_in(link.slug),
            company=link.company,
            user=user,
            ip=ip,
            changes=values,
        )
    # Also without a change: this may be the retry of a request that died before it invalidated.
    transaction.on_commit(partial(resolution.invalidate_after_commit, link))
    return link


def _refuse_forbidden(link: Link, new_values: Change) -> None:
    if link.retired_at is not None:
        raise DomainError(Error.ALIAS_TAKEN)
    if not new_values.by_operator and new_values != Change(is_enabled=False):
        check_not_suspended(link.company)
    if (
        new_values.is_enabled
        and not new_values.by_operator
        and (reason := _reason_not_to_enable(link))
    ):
        raise DomainError(Error.FORBIDDEN, message=reason)
    if new_values.expired_url and link.company.status == Company.Status.PENDING:
        raise DomainError(Error.FORBIDDEN, message=NO_EXPIRED_URL_YET)
    if new_values.is_enabled:
        late = link.expired_url if new_values.expired_url is None else new_values.expired_url
        target_urls.check_still_allowed(new_values.url or link.url, late)


def _cancel_messages(links: Sequence[Link]) -> None:
    """Ends the messages of these links that no vendor has. One with a code stays: it is of use."""
    ids = [link.pk for link in links if link.message_id]
    with connection.cursor() as cursor:
        decisions = transitions.cancel(cursor, ids) if ids else []
    transaction.on_commit(partial(transitions.announce, decisions))


def _audit_values(link: Link) -> dict[str, object]:
    """The values for the audit log; empty for a link sent to one person."""
    return {} if link.message_id else {name: getattr(link, name) for name in AUDITED_FIELDS}


def _reason_not_to_enable(link: Link) -> StrOrPromise | None:
    if link.is_barred:
        return BARRED
    if link.used_at is not None:
        return USED
    return STOPPED if Link.objects.with_stops().get(pk=link.pk).is_stopped else None


def _apply(link: Link, new_values: Change) -> list[str]:
    names = ("url", "expired_url", "utm", "expires_at", "disabled_at", "is_barred")
    before = [getattr(link, name) for name in names]
    for name in ("url", "expired_url", "utm"):
        if (value := getattr(new_values, name)) is not None:
            setattr(link, name, value)
    if new_values.is_endless or new_values.lifetime is not None:
        link.expires_at = _expiry(link, new_values.lifetime)
    if new_values.is_enabled is not None:
        off = link.disabled_at or timezone.now()
        link.disabled_at = None if new_values.is_enabled else off
        link.is_barred = not new_values.is_enabled and (link.is_barred or new_values.by_operator)
    changed = [
        name
        for name, value_before in zip(names, before, strict=True)
        if value_before != getattr(link, name)
    ]
    if link.reuse_key is None or set(changed) <= {"disabled_at", "is_barred"}:
        return changed
    link.reuse_key = None  # it no longer equals the request
    return [*changed, "reuse_key"]


def _expiry(link: Link, lifetime: int | None) -> datetime | None:
    expires_at = None if lifetime is None else timezone.now() + timedelta(seconds=lifetime)
    if link.company.status != Company.Status.PENDING:
        return expires_at
    latest = link.created_at + timedelta(seconds=PENDING_LIFETIME)
    return min(expires_at or latest, latest)


def disable_with_codes(cursor: CursorWrapper, verification_ids: Sequence[UUID]) -> None:
    """Disables the links of ended codes in the caller's transaction, before it locks messages."""
    cursor.execute(channels_sql.in_changeable_months(_DISABLE_WITH_CODES), [list(verification_ids)])
    dead = [Link(id=link_id, slug=key, key=key) for link_id, key in cursor.fetchall()]
    if dead:
        resolution.invalidate_before_commit(*dead)
        transaction.on_commit(lambda: resolution.invalidate_after_commit(*dead))


BATCH_SIZE = 20_000  # rows


def links_to(host: str) -> QuerySet[Link]:
    """Links whose target or expired URL is on this site or a subdomain.

    Barred and retired links are left out. Stored targets are normalised.
    """
    site = rf"^https?://([^/?#]*\.)?{re.escape(host)}([:/?#]|$)"
    is_on_site = Q(url__regex=site) | Q(expired_url__regex=site)
    return Link.objects.filter(is_on_site, is_barred=False, retired_at=None)


def count_links_to(host: str) -> int:
    return sum(links.count() for links in _pages(links_to(host)))


def disable_links_to(host: str, *, user: User | None, ip: str | None = None) -> int:
    """Disables page by page, each in its own commit; returns the number of disabled links."""
    ids = [list(links.values_list("pk", flat=True)) for links in _pages(links_to(host))]
    return sum(_disable(page, host, user=user, ip=ip) for page in ids if page)


def _pages(links: QuerySet[Link]) -> Iterator[QuerySet[Link]]:
    """Pages over the whole table, because no index covers targets; a statement reads one page."""
    last: UUID | None = None
    while True:
        remaining = Link.objects.filter(pk__gt=last) if last else Link.objects.all()
        end = (
            remaining.order_by("pk")
            .values_list("pk", flat=True)[BATCH_SIZE - 1 : BATCH_SIZE]
            .first()
        )
        part = links.filter(pk__gt=last) if last else links
        yield part.filter(pk__lte=end) if end else part
        if end is None:
            return
        last = end


def _disable(ids: list[UUID], host: str, *, user: User | None, ip: str | None) -> int:
    with transaction.atomic():
        locked = links_to(host).select_for_update().filter(pk__in=ids)
        links = list(locked.order_by("pk"))
        resolution.invalidate_before_commit(*links)
        Link.objects.filter(pk__in=[link.pk for link in links]).update(
            disabled_at=Coalesce("disabled_at", timezone.now()), is_barred=True
        )
        _cancel_messages(links)
        for company in Company.objects.filter(pk__in={link.company_id for link in links}):
            count = sum(link.company_id == company.pk for link in links)
            record("links.blocked", f"{host}: {count}", company=company, user=user, ip=ip)
    resolution.invalidate_after_commit(*links)
    return len(links)
