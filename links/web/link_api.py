"""/links: the links of the key's company and mode, one of them, its clicks, and many at once."""

from collections.abc import Mapping
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from accounts.api import pagination
from accounts.api.base_view import ApiResponse
from accounts.api.idempotent_view import IdempotentView
from accounts.api.query_params import PAGING, PERIOD, time_of
from accounts.api.request_fields import Fields
from accounts.client_ip import client_ip
from accounts.models import Scope
from config.errors import DomainError, Error, invalid_input
from config.ids import parse_id
from links.addresses import short_hosts
from links.clicks import statistics
from links.manage import changes
from links.models import Link, LinkQuerySet
from links.web import request_fields

WORDS = {
    "list": _("Short links"),
    "one": _("Short link"),
    "changed": _("The changes were saved"),
    "disabled": _("The link was disabled"),
    "stopped": _("The links are stopped: none of them opens"),
    "released": _("The links open again"),
    "stats": _("Clicks on the link"),
}
STATES = ("active", "expired", "disabled", "used")
INTERVALS = ("day", "hour")


class LinkView(IdempotentView):
    scope = Scope.LINKS

    def own(self) -> LinkQuerySet:
        own = Link.objects.filter(company_id=self.principal.company_id, mode=self.principal.mode)
        return own.with_stops()

    def link(self, public_id: str) -> Link:
        link_id = parse_id("lnk", public_id)
        found = link_id and self.own().filter(pk=link_id).first()
        if not found:
            raise DomainError(Error.NOT_FOUND)
        return found

    def answer(self, words: str, body: dict[str, Any]) -> ApiResponse:
        return ApiResponse({"success": True, "message": WORDS[words], **body})


class Links(LinkView):
    parameters = ("state", "slug", "batch", *PERIOD, *PAGING)

    def get(self, request: Request) -> HttpResponse:
        query = request.query_params
        found = filter_links(self.own(), query, self.principal.company_id)
        page = pagination.page_of(found, query)
        return self.answer(
            "list",
            {
                "data": [link_body(link) for link in page.rows],
                "has_more": page.next_cursor is not None,
                "next_cursor": page.next_cursor,
            },
        )


class LinkDetail(LinkView):
    def get(self, request: Request, public_id: str) -> HttpResponse:
        return self.answer("one", link_body(self.link(public_id)))

    def patch(self, request: Request, public_id: str) -> HttpResponse:
        link = self.link(public_id)
        wanted = request_fields.link_change(Fields(self.payload(request)), self.principal)
        changed = changes.change(link=link, wanted=wanted, ip=client_ip(request.META))
        changed.is_stopped = link.is_stopped
        return self.answer("changed", link_body(changed))

    def delete(self, request: Request, public_id: str) -> HttpResponse:
        off = changes.Change(is_enabled=False)
        link = self.link(public_id)
        if link.retired_at is None:
            link = changes.change(link=link, wanted=off, ip=client_ip(request.META))
        return self.answer("disabled", link_body(link))


class LinkStats(LinkView):
    parameters = ("interval", *PERIOD)

    def get(self, request: Request, public_id: str) -> HttpResponse:
        link, query = self.link(public_id), request.query_params
        interval = query.get("interval", "day")
        if interval not in INTERVALS:
            choices = ", ".join(INTERVALS)
            raise invalid_input(interval=format_lazy(_("Allowed: {choices}"), choices=choices))
        start, end = _period(query, interval)
        if interval == "hour":
            points = statistics.by_hour(link, start, end)
        else:
            first, last = timezone.localdate(start), timezone.localdate(end)
            points = statistics.by_day(link, first, last)
            start, end = statistics.midnight(first), statistics.midnight(last + timedelta(days=1))
        seen = _breakdowns(link, start, end)
        return self.answer("stats", _counts(link) | _series(interval, points) | seen)


def filter_links(
    links: QuerySet[Link], query: Mapping[str, str], company_id: int
) -> QuerySet[Link]:
    """By slug or alias, state, batch, and time of making (`from` ≤ created < `to`)."""
    asked = Fields(query)
    slug = asked.text("slug")
    asked.check()
    if slug:
        links = links.filter(with_slug(slug, company_id))
    if batch := query.get("batch"):
        batch_id = parse_id("bat", batch)
        links = links.filter(batch_id=batch_id) if batch_id else links.none()
    if state := query.get("state"):
        links = links.filter(in_state(state))
    if query.get("from"):
        links = links.filter(created_at__gte=time_of("from", query["from"]))
    if query.get("to"):
        links = links.filter(created_at__lt=time_of("to", query["to"]))
    return links


def with_slug(slug: str, company_id: int) -> Q:
    """Under any host that the company's links may be under; in another case only an alias. Not one
    whose name was handed on: the index of names leaves those out.
    """
    found = Q(key__in=short_hosts.keys(slug, company_id), retired_at=None)
    return found & (Q(slug=slug) | Q(is_alias=True))


def in_state(state: str) -> Q:
    """Of rows of `with_stops`."""
    now = timezone.now()
    is_on = Q(disabled_at=None, is_stopped=False)
    states = {
        "active": is_on & Q(used_at=None) & (Q(expires_at=None) | Q(expires_at__gt=now)),
        "expired": is_on & Q(used_at=None, expires_at__lte=now),
        "used": is_on & Q(used_at__isnull=False),
        "disabled": ~is_on,
    }
    if state not in states:
        choices = ", ".join(STATES)
        raise invalid_input(state=format_lazy(_("Allowed: {choices}"), choices=choices))
    return states[state]


def _period(query: Mapping[str, str], interval: str) -> tuple[datetime, datetime]:
    """The last 30 days or 48 hours unless asked otherwise."""
    end = _moment(query, "to") or timezone.now()
    usual = timedelta(hours=48) if interval == "hour" else timedelta(days=29)
    start = _moment(query, "from") or end - usual
    longest = (
        timedelta(hours=statistics.MAX_HOURS)
        if interval == "hour"
        else timedelta(days=statistics.MAX_DAYS)
    )
    if start > end:
        words = _("It begins after it ends")
        raise invalid_input(**{"from": words})
    if end - start > longest:
        days = longest.days
        words = format_lazy(_("At most {days} days in all"), days=days)
        raise invalid_input(**{"from": words})
    return (statistics.hour_of(start) if interval == "hour" else start), end


def _moment(query: Mapping[str, str], name: str) -> datetime | None:
    """None when it is not asked for; the first and the last year have days that are no dates."""
    if not query.get(name):
        return None
    moment = time_of(name, query[name])
    if not MINYEAR < moment.year < MAXYEAR:
        raise invalid_input(**{name: _("The year is too far away")})
    return moment.astimezone(UTC)


def address_body(link: Link) -> dict[str, Any]:
    return {
        "id": link.public_id,
        "short_url": link.short_url,
        "slug": link.slug,
        "url": link.url,
        "expires_at": link.expires_at,
    }


def _counts(link: Link) -> dict[str, Any]:
    return {
        "id": link.public_id,
        "clicks": link.clicks,
        "previews": link.previews,
        "scanners": link.scanners,
        "first_click_at": link.first_click_at,
        "last_click_at": link.last_click_at,
    }


def link_body(link: Link) -> dict[str, Any]:
    return {
        **address_body(link),
        "alias": link.slug if link.is_alias else None,
        "state": link.state,
        "test": link.mode == "test",
        "created_at": link.created_at,
        "utm": link.utm or None,
        "expired_url": link.expired_url or None,
        "once": link.is_once,
        "used_at": link.used_at,
        "until": "code" if link.dies_with_code else None,
        "batch": link.batch or None,
        **_counts(link),
    }


def _series(interval: str, points: list[statistics.Point]) -> dict[str, Any]:
    names = ("at", "clicks", "previews", "scanners")
    series = [{name: getattr(one, name) for name in names} for one in points]
    return {"interval": interval, "series": series}


def _breakdowns(link: Link, start: datetime, end: datetime) -> dict[str, Any]:
    found = statistics.visitors(link, max(start, statistics.oldest_click()), end)
    return {
        name: [{"name": value or None, "clicks": count} for value, count in getattr(found, name)]
        for name in ("referrers", "devices", "countries")
    }
