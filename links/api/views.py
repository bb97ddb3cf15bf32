"""The views of /links and /batches: make, send, list, change and stop links; their clicks."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal
from api import pagination
from api.calls import body_of
from api.idempotency import IdempotencyKey
from api.idempotent_view import IdempotentView
from api.request_fields import QueryFields, RequestFields
from catalogue.channels import by_stored_name
from catalogue.errors import DomainError, Error
from catalogue.ids import parse_id, public_id, uuid7
from catalogue.texts import StrOrPromise
from channels import phone_numbers
from channels.models import stored_fields
from channels.routing.company_policy import locale_for
from channels.web.fields import CHANNEL, LOCALE, PHONE
from channels.web.send_view import SendView
from links.addresses import short_hosts, text_urls
from links.api import calls as declared
from links.api import fields as link_fields
from links.api import parsing
from links.api.parsing import new_link, reusable_link
from links.clicks import statistics
from links.make.bulk import shorten_many
from links.make.new_link import SLUG_LENGTH_IN_MESSAGES, NewLink
from links.make.send import LinkSendRequest, SentLink, send_link, sent_link
from links.make.shorten import shorten
from links.manage import changes, stopping
from links.models import Link, LinkQuerySet
from processes.server.client_ip import client_ip
from storage.heavy_work import HeavyWork

STARTS_AFTER_END = _("The start is after the end")


class LinkView(IdempotentView):
    def company_links(self) -> LinkQuerySet:
        links = Link.objects.filter(company_id=self.principal.company_id, mode=self.principal.mode)
        return links.with_stops()

    def link(self, public_id: str) -> Link:
        link_id = parse_id("lnk", public_id)
        link = link_id and self.company_links().filter(pk=link_id).first()
        if not link:
            raise DomainError(Error.NOT_FOUND)
        return link


class Links(LinkView):
    calls = (declared.LIST,)

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.respond(self._body(request.GET))

    def _body(self, query: Mapping[str, str]) -> dict[str, Any]:
        """The body of the list.

        Filters are slug or alias, state, batch, and creation time (`from` ≤ created < `to`).
        """
        params = QueryFields(query)
        slug = params.text(declared.WITH_SLUG)
        batch = params.text(declared.OF_BATCH)
        state = params.text(declared.WITH_STATE)
        start, end = params.time(declared.CREATED_FROM), params.time(declared.CREATED_TO)
        params.check()
        history = created_in(self.company_links(), start, end)
        links = history.in_state(state) if state else history
        if slug:
            links = links.filter(with_slug(slug, self.principal.company_id))
        if batch:
            batch_id = parse_id("bat", batch)
            links = links.filter(batch_id=batch_id) if batch_id else links.none()
        has_index = slug or batch or not state
        return pagination.list_body(
            links,
            query,
            link_fields.LINK.body_of,
            company_id=self.principal.company_id,
            history=None if has_index else history,
        )


class LinkDetail(LinkView):
    calls = (declared.GET, declared.CHANGE, declared.DISABLE)

    def get(self, request: HttpRequest, public_id: str) -> HttpResponse:
        return self.respond(body_of(self.link(public_id), link_fields.LINK))

    def patch(self, request: HttpRequest, public_id: str) -> HttpResponse:
        link = self.link(public_id)
        new_values = parsing.link_change(RequestFields(self.payload(request)), self.principal)
        changed = changes.change(link=link, new_values=new_values, ip=client_ip(request.META))
        changed.is_stopped = link.is_stopped
        return self.respond(body_of(changed, link_fields.LINK))

    def delete(self, request: HttpRequest, public_id: str) -> HttpResponse:
        off = changes.Change(is_enabled=False)
        link = self.link(public_id)
        if link.retired_at is None:
            link = changes.change(link=link, new_values=off, ip=client_ip(request.META))
        return self.respond(body_of(link, link_fields.LINK))


class LinkStats(LinkView):
    calls = (declared.STATS,)

    def get(self, request: HttpRequest, public_id: str) -> HttpResponse:
        link = self.link(public_id)
        query = QueryFields(request.GET)
        interval = query.text(declared.INTERVAL) or "day"
        start, end = _period(query, interval)
        if interval == "hour":
            points = statistics.by_hour(link, start, end)
        else:
            first, last = timezone.localdate(start), timezone.localdate(end)
            points = statistics.by_day(link, first, last)
            start, end = statistics.midnight(first), statistics.midnight(last + timedelta(days=1))
        counts = body_of(link, declared.COUNTED) | _series(interval, points)
        return self.respond(counts | _breakdowns(link, start, end))


def created_in(links: LinkQuerySet, start: datetime | None, end: datetime | None) -> LinkQuerySet:
    if start:
        links = links.filter(created_at__gte=start)
    return links.filter(created_at__lt=end) if end else links


def with_slug(slug: str, company_id: int) -> Q:
    """The filter for links with this slug under any host of the company's links.

    In another letter case it finds only an alias. A link whose alias was reassigned is not found:
    the index of names excludes it.
    """
    condition = Q(key__in=short_hosts.keys(slug, company_id), retired_at=None)
    return condition & (Q(slug=slug) | Q(is_alias=True))


def _period(query: QueryFields, interval: str) -> tuple[datetime, datetime]:
    """The requested period, by default the last 30 days or 48 hours."""
    end, start = query.time(declared.CLICKS_TO) or timezone.now(), query.time(declared.CLICKS_FROM)
    query.check()
    default_length = timedelta(hours=48) if interval == "hour" else timedelta(days=29)
    start = start or end - default_length
    longest = (
        timedelta(hours=statistics.MAX_HOURS)
        if interval == "hour"
        else timedelta(days=statistics.MAX_DAYS)
    )
    if start > end:
        query.add_error(declared.CLICKS_FROM, STARTS_AFTER_END)
    elif end - start > longest:
        days = longest.days
        text = format_lazy(_("At most {days} days in all"), days=days)
        query.add_error(declared.CLICKS_FROM, text)
    query.check()
    start, end = start.astimezone(UTC), end.astimezone(UTC)
    return (statistics.hour_of(start) if interval == "hour" else start), end


def _series(interval: str, points: list[statistics.Point]) -> dict[str, Any]:
    return {"interval": interval, "series": [body_of(point, declared.POINT) for point in points]}


def _breakdowns(link: Link, start: datetime, end: datetime) -> dict[str, Any]:
    visitors = statistics.visitors(link, max(start, statistics.oldest_click()), end)
    return {
        name: [{"name": value or None, "clicks": count} for value, count in getattr(visitors, name)]
        for name in ("referrers", "devices", "countries")
    }


class Shorten(IdempotentView):
    calls = (declared.SHORTEN,)

    def post(self, request: HttpRequest) -> HttpResponse:
        payload = self.payload(request)
        fields = RequestFields(payload)
        link = reusable_link(fields, self.principal)
        fields.check()
        assert link is not None  # noqa: S101 - `check` raises where it is

        def effect() -> dict[str, Any]:
            created = shorten(owner=self.principal, link=link)
            return self.body(created, link.seconds_left(created))

        return self.once_atomic(self.idempotency_key(request, payload), effect)

    def body(self, link: Link, seconds_left: int | None) -> dict[str, Any]:
        reused = {"expires_in": seconds_left, "reused": link.is_existing}
        return self.success(body_of(link, link_fields.ADDRESS) | reused)


def parse_link(payload: Mapping[str, Any], principal: Principal) -> LinkSendRequest:
    """The fields of a send; raises a DomainError that names the invalid fields."""
    fields = RequestFields(payload)
    phone = fields.text(PHONE)
    channel = fields.text(CHANNEL)
    locale = fields.text(LOCALE)
    text = fields.text(link_fields.TEXT)
    link = new_link(fields, principal, length=SLUG_LENGTH_IN_MESSAGES)
    own_texts = stored_fields.parse(fields, "link")
    fields.check()
    assert link is not None  # noqa: S101 - `check` raises where it is
    if text:
        text_urls.check(text, target=link.url, allowed=principal.link_rules.targets)
    number = phone_numbers.normalise(phone or "", principal.country)
    return LinkSendRequest(
        phone=number,
        locale=locale or locale_for(principal, number, ""),
        channel=channel,
        text=text or "",
        link=link,
        **own_texts,
    )


class SendLink(SendView):
    calls = (declared.SEND_LINK,)
    kind = "link"
    send = staticmethod(send_link)
    repeat = staticmethod(sent_link)

    def parse(self, payload: dict[str, Any]) -> LinkSendRequest:
        return parse_link(payload, self.principal)

    def body(self, result: SentLink) -> dict[str, Any]:
        body = self.outcome_body(result.outcome, short_url=result.short_url)
        return (
            body | {"segments": result.segments}
            if by_stored_name(result.outcome.channel).has_segments
            else body
        )


BULK_BODY = 2500 * 1024  # bytes: a thousand of the longest URLs
SMALL_BULK = 20  # links; so few cost no more than other calls
MAKING = HeavyWork("links made in bulk", limit=1, max_waiting=24, timeout=8.0)  # a thousand: 0.4 s
NOT_AN_OBJECT = _("Must be an object with a url")


class BulkLinks(LinkView):
    calls = (declared.BULK,)
    max_body = BULK_BODY

    def post(self, request: HttpRequest) -> HttpResponse:
        payload = self.payload(request)
        fields = RequestFields(payload)
        items = fields.array(declared.LINKS)
        fields.check()
        key = self.idempotency_key(request, payload)
        is_small = len(items) <= SMALL_BULK
        with nullcontext() if is_small else MAKING.turn(self.principal.company_id):
            return self._make(items, key)

    def _make(self, items: Sequence[object], key: IdempotencyKey | None) -> HttpResponse:
        new_links = [self._new_link(item) for item in items]
        batch_id = uuid7()

        def effect() -> dict[str, Any]:
            good = [link for link in new_links if isinstance(link, NewLink)]
            links = shorten_many(owner=self.principal, new_links=good, batch_id=batch_id)
            results_of_valid = iter(links)
            results = [
                next(results_of_valid) if isinstance(link, NewLink) else link for link in new_links
            ]
            data = [self._result(*both) for both in zip(results, new_links, strict=True)]
            is_new = any(isinstance(link, Link) and not link.is_existing for link in links)
            batch = public_id("bat", batch_id) if is_new else None
            message = self._message(data)
            return self.success({"message": message, "batch": batch, "data": data})

        return self.once_atomic(key, effect)

    def _new_link(self, item: object) -> NewLink | DomainError:
        if not isinstance(item, dict):
            return DomainError(Error.INVALID_INPUT, message=NOT_AN_OBJECT)
        try:
            fields = RequestFields(item)
            link = parsing.reusable_link(fields, self.principal)
            fields.check()
        except DomainError as error:
            return error
        assert link is not None  # noqa: S101 - `check` raises where it is
        return link

    def _result(
        self, result: Link | DomainError, new_link: NewLink | DomainError
    ) -> dict[str, Any]:
        if isinstance(result, Link) and isinstance(new_link, NewLink):
            reused = {"expires_in": new_link.seconds_left(result), "reused": result.is_existing}
            return {"success": True, **body_of(result, link_fields.ADDRESS), **reused}
        assert isinstance(result, DomainError)  # noqa: S101 - what was refused was not made
        body = result.body(request_id=self.request_id)
        del body["request_id"]  # the error concerns the whole request
        return body

    def _message(self, data: list[dict[str, Any]]) -> StrOrPromise:
        created = sum(row["success"] for row in data)
        return format_lazy(_("Links created: {made} of {total}"), made=created, total=len(data))


class Batch(LinkView):
    calls = (declared.STOP,)

    def delete(self, request: HttpRequest, public_id: str) -> HttpResponse:
        company, batch_id = stopping.find_batch(owner=self.principal, public_id=public_id)
        stopping.stop(company=company, batch_id=batch_id, ip=client_ip(request.META))
        return self.respond({"batch": public_id})


class ReleaseBatch(LinkView):
    calls = (declared.RELEASE,)

    def post(self, request: HttpRequest, public_id: str) -> HttpResponse:
        idempotency_key = self.idempotency_key(request, self.payload(request))

        def effect() -> dict[str, Any]:
            company, batch_id = stopping.find_batch(owner=self.principal, public_id=public_id)
            stopping.release(company=company, batch_id=batch_id, ip=client_ip(request.META))
            return self.success({"batch": public_id})

        return self.once_atomic(idempotency_key, effect)
