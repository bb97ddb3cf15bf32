"""The cabinet's list of short links, and the same as a spreadsheet."""

from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Q, QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from accounts.api.pagination import forgiving_page_of
from accounts.audit.events import record
from accounts.cabinet.spreadsheets import csv_download
from accounts.client_ip import client_ip
from accounts.models import Member, Mode
from accounts.people.phone_masking import may_search
from accounts.people.roles import CabinetRequest, member_required
from config.ids import parse_id
from links.addresses import short_hosts
from links.api.link_views import in_state
from links.manage import batches
from links.models import Link
from links.web import export
from links.web.forms import LinkFilter


@member_required()
def link_list(request: CabinetRequest) -> HttpResponse:
    form = LinkFilter(request.GET)
    chosen = form.chosen()
    found = matching(request.member, chosen)
    if found.is_hidden:
        form.add_error("search", _("Enter a whole short link or words: your role sees no digits."))
    context = {
        "form": form,
        "mode": form.mode_chosen,
        "batch": batches.summary(request.company, form.mode_chosen, chosen.get("batch", "")),
        "stop": request.company.link_stops.filter(batch_id=None).first(),
        "is_filtered": bool(chosen.keys() - {"mode"}),
        "base_url": settings.PUBLIC_URL,
        "is_first": not request.GET.get("cursor"),
        "page": forgiving_page_of(found.links, request.GET, history=found.history),
    }
    return render(request, "cabinet/link_list.html", context)


class Matches(NamedTuple):
    links: QuerySet[Link]
    history: QuerySet[Link] | None  # where a filter without an index looks
    is_hidden: bool = False  # digits of targets, which this member sees masked, are not searched


def matching(member: Member, chosen: dict[str, Any]) -> Matches:
    own = Link.objects.filter(company=member.company_id, mode=chosen.get("mode", Mode.LIVE))
    links: QuerySet[Link] = own.with_stops()
    is_indexed = not chosen.get("state")
    if state := chosen.get("state"):
        links = links.filter(in_state(state))
    if text := chosen.get("search", "").strip():
        named = _named(text, member.company_id)
        is_indexed = Link.objects.filter(named, company=member.company_id).exists()
        if not is_indexed and not may_search(text, member):
            return Matches(links.none(), None, is_hidden=True)
        links = links.filter(named if is_indexed else Q(url__icontains=text))
    if batch := chosen.get("batch"):
        batch_id = parse_id("bat", batch)
        is_indexed = True
        links = links.filter(batch_id=batch_id) if batch_id else links.none()
    return Matches(links, None if is_indexed else own)


def _named(text: str, company_id: int) -> Q:
    """A short link, or the id of a batch; what has neither is searched for in the targets."""
    if batch_id := parse_id("bat", text):
        return Q(batch_id=batch_id)
    slug = text.rstrip("/").rpartition("/")[2]
    return Q(key__in=short_hosts.keys(slug, company_id), retired_at=None)


@require_GET
@member_required()
def link_export(request: CabinetRequest) -> StreamingHttpResponse:
    form = LinkFilter(request.GET)
    record(
        "links.exported",
        ", ".join(sorted(form.chosen())),
        company=request.company,
        user=request.user,
        ip=client_ip(request.META),
    )
    found = matching(request.member, form.chosen())
    rows = export.rows_of(found.links, request.member, found.history)
    name = f"kvitok-links-{form.mode_chosen}-{timezone.localdate():%Y-%m-%d}.csv"
    return csv_download(rows, name)
