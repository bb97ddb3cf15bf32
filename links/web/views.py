"""The cabinet's pages of one short link, and of a company's settings for links."""

from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from io import BytesIO

import segno
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import F, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from accounts.form_pages import PageLink, confirm_page, form_page, refusals_on
from accounts.models import Company, Member, Mode
from accounts.people.cabinet_access import (
    CabinetRequest,
    can_change_settings,
    member_required,
)
from accounts.people.phone_visibility import text_for
from catalogue.errors import DomainError, Error
from catalogue.ids import parse_id
from channels.models import Message
from channels.web.chart import Chart, Series, chart
from links.clicks import statistics
from links.make.shorten import shorten
from links.manage import changes
from links.models import Link, Stop
from links.web.forms import ChangeForm, LinkForm

DAYS = 14
CHART_SERIES = [
    Series("people", gettext_lazy("people"), "green"),
    Series("machines", gettext_lazy("previews and scanners"), "amber"),
]
DEVICES = {
    "android": "Android",
    "ios": "iOS",
    "windows": "Windows",
    "macos": "macOS",
    "linux": "Linux",
}
QR = {"svg": "image/svg+xml", "png": "image/png"}


@dataclass(frozen=True, slots=True)
class _Owner:
    """The company as owner of live links in the cabinet; test links come from test keys."""

    company_id: int
    mode: str = Mode.LIVE


@member_required(can_change_settings, can_change_settings)
def link_create(request: CabinetRequest) -> HttpResponse:
    if request.company.status != Company.Status.APPROVED:
        messages.error(request, _("Live links can be created once the company is approved."))
        return redirect("link-list")
    lifetime = request.company.default_link_lifetime
    initial = {"lifetime": lifetime or ""}
    form = LinkForm(request.POST or None, company=request.company, initial=initial)
    if request.method == "POST" and form.is_valid():
        with refusals_on(form, "alias"):
            link = shorten(owner=_Owner(request.company.pk), link=form.new_link())
            messages.success(request, _("The link is ready."))
            return redirect("link-detail", link.public_id)
    back = PageLink(reverse("link-list"), _("Short links"))
    return form_page(request, form, _("New link"), verb=_("Create the link"), back=back)


@member_required()
def link_detail(request: CabinetRequest, public_id: str) -> HttpResponse:
    link = _link(request, public_id)
    today = timezone.localdate()
    since = max(statistics.oldest_click(), timezone.now() - timedelta(days=DAYS))
    context = {
        "link": link,
        "is_masked": _is_masked(link, request.member),
        "message": _message(link),
        "stop": _stop(link),
        "chart": _chart(link, today - timedelta(days=DAYS - 1), today),
        "visitors": _visitors(link, since, request.member) if link.clicks else [],
        "can_change": can_change_settings(request.member) and link.retired_at is None,
    }
    return render(request, "cabinet/link_detail.html", context)


def _is_masked(link: Link, member: Member) -> bool:
    """Whether the short URL contains a phone that this member sees masked."""
    return text_for(link.short_url, member) != link.short_url


def _message(link: Link) -> Message | None:
    if link.message_id is None:
        return None
    return Message.objects.filter(company=link.company_id, pk=link.message_id).first()


def _stop(link: Link) -> Stop | None:
    """The stop of all the company's links, or else of the link's batch."""
    of_it = Q(batch_id=None) | Q(batch_id=link.batch_id)
    stops = Stop.objects.filter(of_it, company=link.company_id)
    return stops.order_by(F("batch_id").asc(nulls_first=True)).first() if link.is_stopped else None


def _visitors(
    link: Link, since: datetime, member: Member
) -> list[tuple[str, list[tuple[str, int]]]]:
    visitors = statistics.visitors(link, since, timezone.now())
    tables = [
        (_("Came from"), [(text_for(name, member), count) for name, count in visitors.referrers]),
        (_("Device"), [(DEVICES.get(name, name), count) for name, count in visitors.devices]),
        (_("Country"), visitors.countries),
    ]
    # A table in which everything is unknown is left out.
    return [(title, rows) for title, rows in tables if any(name for name, _n in rows)]


def _chart(link: Link, first: date, last: date) -> Chart:
    days = {
        timezone.localdate(day.at): Counter(people=day.clicks, machines=day.previews + day.scanners)
        for day in statistics.by_day(link, first, last)
    }
    return chart(days, CHART_SERIES)


@member_required(can_change_settings, can_change_settings)
def link_edit(request: CabinetRequest, public_id: str) -> HttpResponse:
    link = _link(request, public_id)
    link.company = request.company
    form = ChangeForm(request.POST or None, link=link)
    if request.method == "POST" and form.is_valid():
        return _change_response(request, link, form.change(), _("Changes saved."))
    lead = _(
        "The short link stays the same: everyone who has it goes to the new address within a "
        "second."
    )
    return form_page(
        request, form, _("Change the link"), verb=_("Save"), back=_page_link(link), lead=lead
    )


@member_required(can_change_settings, can_change_settings)
def link_disable(request: CabinetRequest, public_id: str) -> HttpResponse:
    link = _link(request, public_id)
    if request.method == "POST":
        off = changes.Change(is_enabled=False)
        return _change_response(request, link, off, _("The link is off and no longer works."))
    return confirm_page(
        request,
        _("Switch the link off"),
        _(
            "Within a second, visitors are told that it no longer works. You can switch it on "
            "again; its statistics are kept."
        ),
        verb=_("Switch off"),
        back=_page_link(link),
        subject=format_html("<code>{}</code>", link.short_url),
    )


@require_POST
@member_required(can_change_settings, can_change_settings)
def link_enable(request: CabinetRequest, public_id: str) -> HttpResponse:
    on = changes.Change(is_enabled=True)
    return _change_response(request, _link(request, public_id), on, _("The link is on again."))


@require_GET
@member_required()
def link_qr(request: CabinetRequest, public_id: str, kind: str) -> HttpResponse:
    """The short link as a QR code to print: an SVG, sharp at any size, or a PNG."""
    link = _link(request, public_id)
    drawn = BytesIO()
    if _is_masked(link, request.member):
        raise PermissionDenied
    code = segno.make(link.short_url, error="m", micro=False)
    # An SVG has no background: on a dark page or print its modules would be invisible.
    code.save(drawn, kind=kind, scale=10, border=4, dark="#000", light="#fff")
    response = HttpResponse(drawn.getvalue(), content_type=QR[kind])
    response["Content-Disposition"] = f'attachment; filename="{link.slug}.{kind}"'
    return response


def _change_response(
    request: CabinetRequest, link: Link, change: changes.Change, text: str
) -> HttpResponse:
    try:
        changes.change(link=link, new_values=change, **request.actor)
    except DomainError as error:
        is_renamed = error.error is Error.ALIAS_TAKEN
        renamed = _("The name of this link has been given to another one.")
        messages.error(request, renamed if is_renamed else " ".join(error.texts))
    else:
        messages.success(request, text)
    return redirect("link-detail", link.public_id)


def _page_link(link: Link) -> PageLink:
    return PageLink(reverse("link-detail", args=[link.public_id]), link.slug)


def _link(request: CabinetRequest, public_id: str) -> Link:
    links = Link.objects.filter(company=request.company).with_stops()
    return get_object_or_404(links, pk=parse_id("lnk", public_id))
