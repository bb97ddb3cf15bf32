"""Every list of the cabinet with rows for it. A route `<noun>-list` that is missing here fails."""

from collections.abc import Callable
from datetime import date
from typing import NamedTuple

from accounts.audit import record
from accounts.models import Company
from tests.cabinet.requests import create_request
from tests.document_factories import ClosedMonthFactory, DocumentFactory
from tests.factories import (
    ApiKeyFactory,
    AttemptFactory,
    CodeTextFactory,
    DeliveryFactory,
    EndpointFactory,
    HookFactory,
    InvitationFactory,
    LinkFactory,
    MemberFactory,
    MessageFactory,
    OrderFactory,
)


class List(NamedTuple):
    fill: Callable[[Company, int], object]  # makes this number of rows
    is_paged: bool = True
    filter: str = ""  # a query that leaves no row of them
    rows_open: bool = True  # each row leads to its own page
    most: int = 50  # as many as there can be on one page
    above: str = "overview"  # the page that leads to it


def _messages(company: Company, count: int) -> None:
    for message in MessageFactory.create_batch(count, company=company, state="sent"):
        AttemptFactory.create(message=message)


def _links(company: Company, count: int) -> None:
    LinkFactory.create_batch(count, company=company)


def _keys(company: Company, count: int) -> None:
    ApiKeyFactory.create_batch(count, company=company)


def _requests(company: Company, count: int) -> None:
    for _number in range(count):
        create_request(company)


def _endpoints(company: Company, count: int) -> None:
    for endpoint in EndpointFactory.create_batch(count, company=company):
        DeliveryFactory.create(endpoint=endpoint)


def _hooks(company: Company, count: int) -> None:
    HookFactory.create_batch(count, company=company)


def _orders(company: Company, count: int) -> None:
    OrderFactory.create_batch(count, company=company)


def _months(company: Company, count: int) -> None:
    for number in range(count):
        month = date(2026 - number // 12, 12 - number % 12, 1)
        ClosedMonthFactory.create(company=company, month=month)
        DocumentFactory.create(company=company, month=month)


def _members(company: Company, count: int) -> None:
    MemberFactory.create_batch(count, company=company, role="viewer")
    InvitationFactory.create_batch(count, company=company)


def _texts(company: Company, count: int) -> None:
    CodeTextFactory.create_batch(count, company=company)


def _deeds(company: Company, count: int) -> None:
    for n in range(count):
        record("settings.changed", n, company=company, user=None)


LISTS = {
    "member-list": List(_members, is_paged=False, rows_open=False, above="settings"),
    "audit-list": List(_deeds, filter="kind=keys", rows_open=False, above="settings"),
    "link-list": List(_links, filter="state=expired"),
    "message-list": List(_messages, filter="state=failed"),
    "text-list": List(_texts, is_paged=False, above="settings"),
    "webhook-list": List(_endpoints, is_paged=False, most=20),
    "hook-list": List(_hooks, is_paged=False, most=20),
    "key-list": List(_keys, is_paged=False, most=5),
    "request-list": List(_requests, filter="outcome=ok"),
    "document-list": List(_months, most=12, above="balance", rows_open=False),
    "balance-order-list": List(_orders, above="balance"),
}
