"""The check of top-ups finds what is credited twice, never, or for nothing."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import Company
from billing.models import Order
from tests.billing.documents.history import at, book, buy, company
from tests.factories import OrderFactory
from tools.chaos import payments

pytestmark = pytest.mark.django_db


def found(paid: list[Order], placed: int = 1, refused: tuple[str, ...] = ()) -> list[str]:
    ids = [str(order.pk) for order in paid]
    credits_, _kills = payments.findings(ids, placed, refused=refused, hits=1, planned=1)
    return credits_.subjects


@pytest.fixture
def one() -> Company:
    return company()


@pytest.fixture
def order(one: Company) -> Order:
    return buy(one, at(10, 3), 100, "122.00")


def test_an_order_that_was_paid_and_credited_once_is_right(order: Order) -> None:
    assert found([order]) == []


def other_tokens(order: Order) -> None:
    Order.objects.filter(pk=order.pk).update(tokens=99)


def no_payment(order: Order) -> None:
    order.payments.update(is_credited=False)


def never_credited(order: Order) -> None:
    Order.objects.filter(pk=order.pk).update(state="expired", paid_at=None)


@pytest.mark.parametrize("break_it", [other_tokens, no_payment, never_credited])
def test_a_broken_credit_is_found(order: Order, break_it: Callable[[Order], None]) -> None:
    break_it(order)

    (fault,) = found([order])

    assert str(order.pk) in fault


def test_credits_for_nothing_are_found(one: Company, order: Order) -> None:
    book(one, at(10, 4), "top_up", 5, key="top_up:0")

    faults = found([])

    assert [fault.partition(":")[2] for fault in faults[:1]] == ["0: a credit of no order"]
    assert str(order.pk) in faults[1]


def test_lost_and_doubled_top_ups_are_found(one: Company, order: Order) -> None:
    lost = OrderFactory.build(company=one)
    OrderFactory.create(company=one)

    faults = found([order, lost], placed=1, refused=("stripe: 422 invalid_input",))

    assert faults == [
        f"{lost.pk}: paid, and unknown",
        "stripe: 422 invalid_input: refused",
        "2 orders for 1 top-ups",
    ]


@pytest.mark.parametrize(
    ("hits", "planned", "is_kept"), [(1, 2, True), (0, 2, False), (0, 0, True)]
)
def test_a_run_without_a_kill_at_a_credit_proves_nothing(
    hits: int, planned: int, is_kept: Any
) -> None:
    _credits, kills = payments.findings([], 0, refused=[], hits=hits, planned=planned)

    assert kills.is_kept is is_kept
