"""Searches a company's messages for the cabinet: filtered, newest first, with their charges."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, TypeVar

from django.conf import settings
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from accounts.models import Company, Mode
from api import pagination
from api.pagination import Page, page_or_first
from billing.models import Transfer
from catalogue.ids import first_id_at, parse_id, started_at
from channels import extensions
from channels.models import Message, stored_fields
from channels.recipients import phone_search
from parsing.days import start_of

# filters of the cabinet and the API with the names of their columns
EXACT_FILTERS = ("channel", "kind")
WITHOUT_KEY = "none"  # the filter value for sends from the cabinet and for identity servers
Messages = TypeVar("Messages", bound=QuerySet[Message])
PURGE_LAG = timedelta(days=2)  # by this age the hourly purge has certainly anonymised a phone
# how far a message's time may be from the time in its request id
REQUEST_WINDOW = timedelta(minutes=5)


def matching(company: Company, filters: Mapping[str, Any]) -> QuerySet[Message]:
    """The messages that the filters select, of one mode, in which the index is ordered.

    A search for an id covers both modes.
    """
    rows = Message.objects.for_company(company)
    if searched_id := filters.get("id"):
        return with_charges(rows.filter(by_id(searched_id)))
    rows = rows.filter(mode=filters.get("mode", Mode.LIVE))
    rows = rows.filter(**{name: filters[name] for name in EXACT_FILTERS if name in filters})
    return _by_breakdown_and_phone(rows.with_stored(filters), company, filters)


def _by_breakdown_and_phone(
    rows: QuerySet[Message], company: Company, filters: Mapping[str, Any]
) -> QuerySet[Message]:
    rows = _by_breakdown(rows, filters)
    if state := filters.get("state"):
        rows = in_state(rows, state)
    if phone := filters.get("phone"):
        rows = _by_phone(rows, phone, company.country)
    return with_charges(rows.filter(_in_days(filters)))


def search(company: Company, filters: Mapping[str, Any], query: Mapping[str, str]) -> Page:
    rows = matching(company, filters)
    return page_or_first(rows, query, history=searched_messages(company, filters))


def searched_messages(company: Company, filters: Mapping[str, Any]) -> QuerySet[Message] | None:
    """The messages in which a filter without an index searches; None if the filter has an index."""
    if _is_indexed(filters, company.country):
        return None
    mode = filters.get("mode", Mode.LIVE)
    rows = Message.objects.for_company(company).filter(_in_days(filters), mode=mode)
    return possible_in_state(rows, filters.get("state", ""))


def possible_in_state(history: Messages, state: str) -> Messages:
    """Messages that may be in this state.

    Undelivered messages have an index, but a company may have far more of them than the planner
    expects, and it would read them all.
    """
    return history.filter(is_undelivered=True) if state in Message.FAILED_STATES else history


def in_state(rows: Messages, state: str) -> Messages:
    return possible_in_state(rows.filter(state=state), state)


def with_phone(rows: Messages, number: str) -> Messages:
    """Rows with this whole number, without anonymised months.

    A month with only a few different phones would keep the planner from using their index.
    """
    oldest = timezone.now() - timedelta(days=settings.PHONE_RETENTION) - PURGE_LAG
    return rows.filter(phone=number, pk__gte=first_id_at(oldest))


def recent(company: Company, count: int) -> list[Message]:
    """The last messages of both modes, by one short index scan for each mode."""
    rows = with_charges(Message.objects.for_company(company)).order_by(*pagination.NEWEST_FIRST)
    newest = [row for mode in Mode for row in rows.filter(mode=mode)[:count]]
    return sorted(newest, key=lambda row: (row.created_at, row.id), reverse=True)[:count]


def with_charges(rows: QuerySet[Message]) -> QuerySet[Message]:
    """Annotates `charged`: the tokens captured for the delivery, or None."""
    captures = Transfer.objects.filter(message_id=OuterRef("pk"), kind=Transfer.Kind.CAPTURE)
    return rows.annotate(charged=Subquery(captures.values("amount")[:1]))


def _by_breakdown(rows: QuerySet[Message], filters: Mapping[str, Any]) -> QuerySet[Message]:
    if key := filters.get("api_key"):
        rows = rows.filter(api_key=None if key == WITHOUT_KEY else key)
    if country := filters.get("country"):
        rows = rows.filter(phone_search.phones_of(country))
    if purpose := filters.get("purpose"):
        rows = rows.filter(extensions.kinds["code"].with_purpose(purpose))
    if door := filters.get("door"):
        rows = rows.filter(params__door=door)
    return rows


def _is_indexed(filters: Mapping[str, Any], country: str) -> bool:
    """Whether an index finds the matches without reading other rows."""
    is_whole_phone = phone_search.whole_number(filters.get("phone", ""), country) is not None
    by_day_alone = not filters.keys() - {"mode", "date_from", "date_to"}
    is_named = bool(filters.keys() & {"id", *stored_fields.NAMES})
    return is_named or is_whole_phone or by_day_alone


def by_id(text: str) -> Q:
    if message_id := parse_id("msg", text):
        return Q(pk=message_id)
    return of_request(text)


def of_request(request_id: str) -> Q:
    """The condition on messages of a request.

    `request_id` has no index: the time in the id bounds the company's messages by mode and
    creation, and all messages by their ids.
    """
    began_at = started_at(request_id)
    if began_at is None:
        return Q(pk__in=[])
    first, last = began_at - REQUEST_WINDOW, began_at + REQUEST_WINDOW
    return Q(
        request_id=request_id,
        mode__in=Mode.values,
        created_at__range=(first, last),
        pk__range=(first_id_at(first), first_id_at(last)),
    )


def _in_days(filters: Mapping[str, Any]) -> Q:
    first: date | None = filters.get("date_from")
    last: date | None = filters.get("date_to")
    days = Q(created_at__gte=start_of(first)) if first else Q()
    return days & Q(created_at__lt=start_of(last + timedelta(days=1))) if last else days


def _by_phone(rows: Messages, text: str, country: str) -> Messages:
    if number := phone_search.whole_number(text, country):
        return with_phone(rows, number)
    condition = phone_search.part_of_number(text, country)
    return rows.none() if condition is None else rows.filter(condition)
