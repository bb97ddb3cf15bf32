"""/links: the links of the key's company and mode, one of them, its clicks, and many at once."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from accounts.api import pagination
from accounts.api.base_view import ApiResponse
from accounts.api.fields import body_of
from accounts.api.idempotent_view import IdempotentView
from accounts.api.request_fields import QueryFields, RequestFields
from accounts.client_ip import client_ip
from config.errors import DomainError, Error
from config.ids import parse_id
from links.addresses import short_hosts
from links.api import parsing
from links.api.fields import LINK
from links.api.link_calls import (
    CHANGE,
    CLICKS_FROM,
    CLICKS_TO,
    CREATED_FROM,
    CREATED_TO,
    DISABLE,
    GET,
    INTERVAL,
    LINK_STATS,
    LIST,
    OF_BATCH,
    POINT,
    STATS,
    WITH_SLUG,
    WITH_STATE,
)
from links.clicks import statistics
from links.manage import changes
from links.models import Link, LinkQuerySet

ENDS_FIRST = _("The start is after the end")


class LinkView(IdempotentView):
    def own(self) -> LinkQuerySet:
        own = Link.objects.filter(company_id=self.principal.company_id, mode=self.principal.mode)
        return own.with_stops()

    def link(self, public_id: str) -> Link:
        link_id = parse_id("lnk", public_id)
        found = link_id and self.own().filter(pk=link_id).first()
        if not found:
            raise DomainError(Error.NOT_FOUND)
        return found

    def answer(self, body: dict[str, Any]) -> ApiResponse:
        return ApiResponse(self.success(body))


class Links(LinkView):
    calls = (LIST,)

    def get(self, request: Request) -> HttpResponse:
        page = self.page(request.query_params)
        return self.answer(pagination.body_of_page(page, LINK.body_of))

    def page(self, query: Mapping[str, str]) -> pagination.Page:
        """By slug or alias, state, batch, and time of making (`from` ≤ created < `to`)."""
        asked = QueryFields(query)
        slug, batch, state = asked.text(WITH_SLUG), asked.text(OF_BATCH), asked.text(WITH_STATE)
        start, end = asked.time(CREATED_FROM), asked.time(CREATED_TO)
        asked.check()
        history = made_between(self.own(), start, end)
        links = history.filter(in_state(state)) if state else history
        if slug:
            links = links.filter(with_slug(slug, self.principal.company_id))
        if batch:
            batch_id = parse_id("bat", batch)
            links = links.filter(batch_id=batch_id) if batch_id else links.none()
        has_index = slug or batch or not state
        return pagination.page_of(links, query, history=None if has_index else history)


class LinkDetail(LinkView):
    calls = (GET, CHANGE, DISABLE)

    def get(self, request: Request, public_id: str) -> HttpResponse:
        return self.answer(body_of(self.link(public_id), LINK))

    def patch(self, request: Request, public_id: str) -> HttpResponse:
        link = self.link(public_id)
        wanted = parsing.link_change(RequestFields(self.payload(request)), self.principal)
        changed = changes.change(link=link, wanted=wanted, ip=client_ip(request.META))
        changed.is_stopped = link.is_stopped
        return self.answer(body_of(changed, LINK))

    def delete(self, request: Request, public_id: str) -> HttpResponse:
        off = changes.Change(is_enabled=False)
        link = self.link(public_id)
        if link.retired_at is None:
            link = changes.change(link=link, wanted=off, ip=client_ip(request.META))
        return self.answer(body_of(link, LINK))


class LinkStats(LinkView):
    calls = (STATS,)

    def get(self, request: Request, public_id: str) -> HttpResponse:
        link, query = self.link(public_id), QueryFields(request.query_params)
        interval = query.text(INTERVAL) or "day"
        start, end = _period(query, interval)
        if interval == "hour":
            points = statistics.by_hour(link, start, end)
        else:
            first, last = timezone.localdate(start), timezone.localdate(end)
            points = statistics.by_day(link, first, last)
            start, end = statistics.midnight(first), statistics.midnight(last + timedelta(days=1))
        seen = _breakdowns(link, start, end)
        return self.answer(body_of(link, LINK_STATS) | _series(interval, points) | seen)


def made_between(
    links: QuerySet[Link], start: datetime | None, end: datetime | None
) -> QuerySet[Link]:
    if start:
        links = links.filter(created_at__gte=start)
    return links.filter(created_at__lt=end) if end else links


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
    return {
        "active": is_on & Q(used_at=None) & (Q(expires_at=None) | Q(expires_at__gt=now)),
        "expired": is_on & Q(used_at=None, expires_at__lte=now),
        "used": is_on & Q(used_at__isnull=False),
        "disabled": ~is_on,
    }[state]


def _period(query: QueryFields, interval: str) -> tuple[datetime, datetime]:
    """The last 30 days or 48 hours unless asked otherwise."""
    end, start = query.time(CLICKS_TO) or timezone.now(), query.time(CLICKS_FROM)
    query.check()
    usual = timedelta(hours=48) if interval == "hour" else timedelta(days=29)
    start = start or end - usual
    longest = (
        timedelta(hours=statistics.MAX_HOURS)
        if interval == "hour"
        else timedelta(days=statistics.MAX_DAYS)
    )
    if start > end:
        query.add_error(CLICKS_FROM, ENDS_FIRST)
    elif end - start > longest:
        days = longest.days
        words = format_lazy(_("At most {days} days in all"), days=days)
        query.add_error(CLICKS_FROM, words)
    query.check()
    start, end = start.astimezone(UTC), end.astimezone(UTC)
    return (statistics.hour_of(start) if interval == "hour" else start), end


def _series(interval: str, points: list[statistics.Point]) -> dict[str, Any]:
    return {"interval": interval, "series": [body_of(point, POINT) for point in points]}


def _breakdowns(link: Link, start: datetime, end: datetime) -> dict[str, Any]:
    found = statistics.visitors(link, max(start, statistics.oldest_click()), end)
    return {
        name: [{"name": value or None, "clicks": count} for value, count in getattr(found, name)]
        for name in ("referrers", "devices", "countries")
    }
