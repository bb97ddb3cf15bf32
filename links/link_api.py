"""/links: the links of the key's company and mode, one of them, its clicks, and many at once."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from accounts import paging
from accounts.addresses import client_ip
from accounts.api import ApiView, JsonAnswer
from accounts.fields import Fields
from accounts.models import Scope
from accounts.queries import time_of
from config.errors import DomainError, Error, invalid_input
from config.ids import parse_id
from links import bulk, fields, managing, stats
from links.models import Link
from links.services import NewLink

WORDS = {
    "list": {"ru": "Короткие ссылки", "en": "Short links"},
    "one": {"ru": "Короткая ссылка", "en": "Short link"},
    "changed": {"ru": "Изменения сохранены", "en": "The changes were saved"},
    "disabled": {"ru": "Ссылка отключена", "en": "The link was disabled"},
    "stats": {"ru": "Переходы по ссылке", "en": "Clicks on the link"},
}
STATES = ("active", "expired", "disabled")
INTERVALS = ("day", "hour")
BULK_BODY = 2_500_000  # bytes: a thousand of the longest URLs
NOT_LINKS = (
    f"Список от 1 до {bulk.MOST} объектов с полем url",
    f"A list of 1 to {bulk.MOST} objects with a url",
)
NOT_AN_OBJECT = ("Должен быть объект с полем url", "Must be an object with a url")


class _View(ApiView):
    scope = Scope.LINKS

    def own(self) -> QuerySet[Link]:
        return Link.objects.filter(company_id=self.principal.company_id, mode=self.principal.mode)

    def link(self, public_id: str) -> Link:
        link_id = parse_id("lnk", public_id)
        found = link_id and self.own().filter(pk=link_id).first()
        if not found:
            raise DomainError(Error.NOT_FOUND)
        return found

    def answer(self, words: str, body: dict[str, Any]) -> JsonAnswer:
        return JsonAnswer({"success": True, "message": WORDS[words][self.language], **body})


class Links(_View):
    def get(self, request: Request) -> HttpResponse:
        query = request.query_params
        page = paging.page_of(filtered(self.own(), query), query)
        return self.answer(
            "list",
            {
                "data": [shown(link) for link in page.rows],
                "has_more": page.next_cursor is not None,
                "next_cursor": page.next_cursor,
            },
        )


class LinkDetail(_View):
    def get(self, request: Request, public_id: str) -> HttpResponse:
        return self.answer("one", shown(self.link(public_id)))

    def patch(self, request: Request, public_id: str) -> HttpResponse:
        link = self.link(public_id)
        wanted = fields.change_of(Fields(self.payload(request)), self.principal)
        changed = managing.change(link=link, wanted=wanted, ip=client_ip(request.META))
        return self.answer("changed", shown(changed))

    def delete(self, request: Request, public_id: str) -> HttpResponse:
        off = managing.Change(is_enabled=False)
        link = self.link(public_id)
        if link.retired_at is None:
            link = managing.change(link=link, wanted=off, ip=client_ip(request.META))
        return self.answer("disabled", shown(link))


class LinkStats(_View):
    def get(self, request: Request, public_id: str) -> HttpResponse:
        link, query = self.link(public_id), request.query_params
        interval = query.get("interval", "day")
        if interval not in INTERVALS:
            words = ", ".join(INTERVALS)
            raise invalid_input(interval=(f"Допустимо: {words}", f"Allowed: {words}"))
        start, end = _span(query, interval)
        points = (
            stats.by_hour(link, start, end)
            if interval == "hour"
            else stats.by_day(link, timezone.localdate(start), timezone.localdate(end))
        )
        return self.answer("stats", _counts(link) | _series(interval, points) | _seen(link, start))


class BulkLinks(_View):
    largest_body = BULK_BODY

    def post(self, request: Request) -> HttpResponse:
        payload = self.payload(request)
        items = payload.get("links")
        if not isinstance(items, list) or not 1 <= len(items) <= bulk.MOST:
            raise invalid_input(links=NOT_LINKS)
        wanted = [self._wanted(item) for item in items]

        def effect() -> dict[str, Any]:
            good = [one for one in wanted if isinstance(one, NewLink)]
            made = iter(bulk.shorten_many(owner=self.principal, wanted=good))
            results = [next(made) if isinstance(one, NewLink) else one for one in wanted]
            data = [self._result(*both) for both in zip(results, wanted, strict=True)]
            return {"success": True, "message": self._message(data), "data": data}

        return self.once_atomic(self.ticket(request, payload), effect)

    def _wanted(self, item: object) -> NewLink | DomainError:
        if not isinstance(item, dict):
            return DomainError(Error.INVALID_INPUT, message=NOT_AN_OBJECT)
        try:
            found = Fields(item)
            link = fields.new_link(found, self.principal)
            found.check()
        except DomainError as refused:
            return refused
        assert link is not None  # noqa: S101 - `check` raises where it is
        return link

    def _result(self, made: Link | DomainError, wanted: NewLink | DomainError) -> dict[str, Any]:
        if isinstance(made, Link) and isinstance(wanted, NewLink):
            return {"success": True, **_address(made), "expires_in": wanted.lifetime}
        assert isinstance(made, DomainError)  # noqa: S101 - what was refused was not made
        body = made.body(language=self.language, request_id=self.request_id)
        del body["request_id"]  # that of the whole request
        return body

    def _message(self, data: list[dict[str, Any]]) -> str:
        made = sum(one["success"] for one in data)
        words = {
            "ru": f"Ссылок создано: {made} из {len(data)}",
            "en": f"Links made: {made} of {len(data)}",
        }
        return words[self.language]


def filtered(links: QuerySet[Link], query: Mapping[str, str]) -> QuerySet[Link]:
    """By slug or alias, state, and time of making (`from` ≤ created < `to`)."""
    if slug := query.get("slug"):
        links = links.filter(Q(key=slug) | Q(key=slug.lower(), is_alias=True))
    if state := query.get("state"):
        links = links.filter(in_state(state))
    if query.get("from"):
        links = links.filter(created_at__gte=time_of("from", query["from"]))
    if query.get("to"):
        links = links.filter(created_at__lt=time_of("to", query["to"]))
    return links


def in_state(state: str) -> Q:
    now = timezone.now()
    states = {
        "active": Q(disabled_at=None) & (Q(expires_at=None) | Q(expires_at__gt=now)),
        "expired": Q(disabled_at=None, expires_at__lte=now),
        "disabled": Q(disabled_at__isnull=False),
    }
    if state not in states:
        words = ", ".join(STATES)
        raise invalid_input(state=(f"Допустимо: {words}", f"Allowed: {words}"))
    return states[state]


def _span(query: Mapping[str, str], interval: str) -> tuple[datetime, datetime]:
    """The last 30 days or 48 hours unless asked otherwise."""
    end = time_of("to", query["to"]) if query.get("to") else timezone.now()
    usual = timedelta(hours=48) if interval == "hour" else timedelta(days=29)
    start = time_of("from", query["from"]) if query.get("from") else end - usual
    longest = timedelta(hours=stats.HOURS) if interval == "hour" else timedelta(days=stats.DAYS)
    if not timedelta(0) <= end - start <= longest:
        days = longest.days
        words = (f"От начала до конца — не больше {days} дней", f"At most {days} days in all")
        raise invalid_input(**{"from": words})
    return start, end


def _address(link: Link) -> dict[str, Any]:
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


def shown(link: Link) -> dict[str, Any]:
    return {
        **_address(link),
        "alias": link.slug if link.is_alias else None,
        "state": link.state,
        "test": link.mode == "test",
        "created_at": link.created_at,
        **_counts(link),
    }


def _series(interval: str, points: list[stats.Point]) -> dict[str, Any]:
    names = ("at", "clicks", "previews", "scanners")
    series = [{name: getattr(one, name) for name in names} for one in points]
    return {"interval": interval, "series": series}


def _seen(link: Link, start: datetime) -> dict[str, Any]:
    since = max(start, stats.oldest_click())
    found = stats.visitors(link, since, timezone.now())
    return {
        name: [{"name": value or None, "clicks": count} for value, count in getattr(found, name)]
        for name in ("referrers", "devices", "countries")
    }
