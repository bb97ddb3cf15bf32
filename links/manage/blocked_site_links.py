"""Disables the links that lead to a site once the operator blocks it."""

import re
from collections.abc import Iterator
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from accounts.audit.events import record
from accounts.models import Company, User
from links.follow import resolution
from links.models import Link

PAGE_SIZE = 20_000  # rows


def links_to(host: str) -> QuerySet[Link]:
    """Links whose target or expired URL is on this site or a subdomain, unless barred or retired;
    stored targets are normalised.
    """
    site = rf"^https?://([^/?#]*\.)?{re.escape(host)}([:/?#]|$)"
    leads_there = Q(url__regex=site) | Q(expired_url__regex=site)
    return Link.objects.filter(leads_there, is_barred=False, retired_at=None)


def count_links_to(host: str) -> int:
    return sum(links.count() for links in _pages(links_to(host)))


def disable_links_to(host: str, *, user: User | None, ip: str | None = None) -> int:
    """Disables page after page, each in its own commit; returns how many links were disabled."""
    ids = [list(links.values_list("pk", flat=True)) for links in _pages(links_to(host))]
    return sum(_disable(some, host, user=user, ip=ip) for some in ids if some)


def _pages(links: QuerySet[Link]) -> Iterator[QuerySet[Link]]:
    """Pages over the whole table, because no index covers targets; a statement reads one page."""
    last: UUID | None = None
    while True:
        rest = Link.objects.filter(pk__gt=last) if last else Link.objects.all()
        end = rest.order_by("pk").values_list("pk", flat=True)[PAGE_SIZE - 1 : PAGE_SIZE].first()
        part = links.filter(pk__gt=last) if last else links
        yield part.filter(pk__lte=end) if end else part
        if end is None:
            return
        last = end


def _disable(ids: list[UUID], host: str, *, user: User | None, ip: str | None) -> int:
    with transaction.atomic():
        found = links_to(host).select_for_update().filter(pk__in=ids)
        links = list(found.order_by("pk"))
        resolution.invalidate_before_commit(*links)
        Link.objects.filter(pk__in=[link.pk for link in links]).update(
            disabled_at=Coalesce("disabled_at", timezone.now()), is_barred=True
        )
        for company in Company.objects.filter(pk__in={link.company_id for link in links}):
            count = sum(link.company_id == company.pk for link in links)
            record("links.blocked", f"{host}: {count}", company=company, user=user, ip=ip)
    resolution.invalidate_after_commit(*links)
    return len(links)
