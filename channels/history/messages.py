"""Searches a company's messages for the cabinet: filtered, newest first, with their charges."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery

from accounts.api import pagination
from accounts.api.pagination import Page, forgiving_page_of
from accounts.models import Company, Mode
from billing.models import Transfer
from channels.history.day_counts import start_of
from channels.models import Message
from channels.recipients import phone_search
from config.errors import DomainError
from config.ids import parse_id, started_at

EXACT_FILTERS = ("channel", "state", "kind", "api_key")
MAX_SCANNED = 50_000  # messages scanned for one page of a filter without an index
REQUEST_WINDOW = timedelta(minutes=5)  # how far a message may be from the time in its request id


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A page, and the time down to which was scanned if not to the end."""

    page: Page
    scanned_until: datetime | None = None


def matching(company: Company, chosen: Mapping[str, Any]) -> QuerySet[Message]:
    """Messages of one mode, because the index orders within a mode; an id search covers both."""
    rows = Message.objects.of(company)
    if searched_id := chosen.get("id"):
        return with_charges(rows.filter(_by_id(searched_id)))
    rows = rows.filter(mode=chosen.get("mode", Mode.LIVE))
    rows = rows.filter(**{name: chosen[name] for name in EXACT_FILTERS if name in chosen})
    if phone := chosen.get("phone"):
        rows = rows.filter(_by_phone(phone, company.country))
    return with_charges(rows.filter(_in_days(chosen)))


def search(company: Company, chosen: Mapping[str, Any], query: Mapping[str, str]) -> SearchResult:
    """A page of matches. Without an index, each page scans a bounded part of the history."""
    rows = matching(company, chosen)
    end = None if _is_indexed(chosen, company.country) else _end_of_scan(company, chosen, query)
    if end is None:
        return SearchResult(forgiving_page_of(rows, query))
    # `created_at__gte` is redundant, but only it can use the index.
    until = Q(created_at__gt=end.created_at) | Q(id__gte=end.id)
    page = forgiving_page_of(rows.filter(until, created_at__gte=end.created_at), query)
    if page.next_cursor:
        return SearchResult(page)
    return SearchResult(Page(page.rows, pagination.encode(end)), end.created_at)


def recent(company: Company, count: int) -> list[Message]:
    """The last messages of both modes, by one short index scan each."""
    rows = with_charges(Message.objects.of(company)).order_by(*pagination.NEWEST_FIRST)
    newest = [row for mode in Mode for row in rows.filter(mode=mode)[:count]]
    return sorted(newest, key=lambda row: (row.created_at, row.id), reverse=True)[:count]


def with_charges(rows: QuerySet[Message]) -> QuerySet[Message]:
    """Annotates `charged`: the tokens captured for the delivery, or None."""
    captures = Transfer.objects.filter(message_id=OuterRef("pk"), kind=Transfer.Kind.CAPTURE)
    return rows.annotate(charged=Subquery(captures.values("amount")[:1]))


def _is_indexed(chosen: Mapping[str, Any], country: str) -> bool:
    """Whether an index finds the matches without scanning others."""
    is_whole_phone = phone_search.whole_number(chosen.get("phone", ""), country) is not None
    is_undelivered = chosen.get("state") in {Message.State.FAILED, Message.State.EXPIRED}
    by_day_alone = not chosen.keys() - {"mode", "date_from", "date_to"}
    return "id" in chosen or is_whole_phone or is_undelivered or by_day_alone


def _end_of_scan(
    company: Company, chosen: Mapping[str, Any], query: Mapping[str, str]
) -> Message | None:
    """The last message of a scan of MAX_SCANNED; None if there are fewer."""
    mode = chosen.get("mode", Mode.LIVE)
    rows: QuerySet[Message] = Message.objects.of(company).filter(_in_days(chosen), mode=mode)
    with suppress(DomainError):
        rows = pagination.after(rows, query)
    return (
        rows.order_by(*pagination.NEWEST_FIRST)
        .only("created_at")[MAX_SCANNED - 1 : MAX_SCANNED]
        .first()
    )


def _by_id(text: str) -> Q:
    if message_id := parse_id("msg", text):
        return Q(pk=message_id)
    began_at = started_at(text)
    if began_at is None:
        return Q(pk__in=[])
    around = (began_at - REQUEST_WINDOW, began_at + REQUEST_WINDOW)
    return Q(request_id=text, mode__in=Mode.values, created_at__range=around)


def _in_days(chosen: Mapping[str, Any]) -> Q:
    first: date | None = chosen.get("date_from")
    last: date | None = chosen.get("date_to")
    days = Q(created_at__gte=start_of(first)) if first else Q()
    return days & Q(created_at__lt=start_of(last + timedelta(days=1))) if last else days


def _by_phone(text: str, country: str) -> Q:
    condition = phone_search.matching(text, country)
    return Q(pk__in=[]) if condition is None else condition
