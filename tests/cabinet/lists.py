"""Every list of the cabinet and what fills it. A route `<noun>-list` that is not here fails."""

from collections.abc import Callable
from typing import NamedTuple

from accounts.models import Company
from tests.factories import ApiKeyFactory, AttemptFactory, MessageFactory, OrderFactory


class List(NamedTuple):
    fill: Callable[[Company, int], object]  # makes so many rows
    is_paged: bool = True
    filter: str = ""  # a query that leaves no row of them
    rows_open: bool = True  # each row leads to a page of its own
    most: int = 50  # as many as there can be on one page


def _messages(company: Company, count: int) -> None:
    for message in MessageFactory.create_batch(count, company=company, state="sent"):
        AttemptFactory.create(message=message)


def _keys(company: Company, count: int) -> None:
    ApiKeyFactory.create_batch(count, company=company)


def _orders(company: Company, count: int) -> None:
    OrderFactory.create_batch(count, company=company)


LISTS = {
    "message-list": List(_messages, filter="state=failed"),
    "key-list": List(_keys, is_paged=False, most=5),
    "balance-order-list": List(_orders),
}
