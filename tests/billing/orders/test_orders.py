"""Orders: what can be bought, at what price, and how invoices are numbered."""

from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest
from django.db import transaction
from django.test import override_settings
from django.utils import timezone

from accounts.models import Company
from billing.models import InvoiceCounter, Order
from billing.orders import orders, prices, vat_rates
from billing.tasks import expire_orders
from catalogue.errors import DomainError
from tests.api.races import at_once
from tests.billing.top_ups import place_order
from tests.factories import (
    CompanyFactory,
    OrderFactory,
    PackageFactory,
    SellerFactory,
    TariffFactory,
    UserFactory,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def steps() -> None:
    for tokens, price in ((100, "2"), (1000, "1.9"), (10_000, "0.3333")):
        TariffFactory.create(tokens_from=tokens, price=Decimal(price))


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize(
    ("tokens", "amount"),
    [
        (-1, None),
        (0, None),
        (99, None),
        (100, "200.00"),
        (999, "1998.00"),
        (1000, "1900.00"),
        (10_001, "3333.33"),
        (100_000_000, "33330000.00"),
        (100_000_001, None),
    ],
)
def test_tokens_are_priced_by_their_tariff(tokens: int, amount: str | None) -> None:
    quote = prices.quote_tokens(tokens, "RUB")

    assert (str(quote.amount) if quote else None) == amount


def test_sum_that_no_order_can_have_is_not_sold() -> None:
    TariffFactory.create(tokens_from=1, price=Decimal(10_000))

    assert prices.quote_tokens(100_000_000, "RUB") is None


def test_packages_off_sale_are_not_sold() -> None:
    PackageFactory.create(code="old", is_active=False)
    package = PackageFactory.create(code="new")

    assert prices.quote_package("old") is None
    quote = prices.quote_package("new")
    assert quote == prices.Quote(1000, Decimal("1900.00"), "RUB", package)


@pytest.mark.parametrize(
    ("rate", "part"),
    [(None, None), ("0", "0.00"), ("5", "90.48"), ("20", "316.67"), ("22", "342.62")],
)
def test_vat_is_inside_the_amount(rate: str | None, part: str | None) -> None:
    result = vat_rates.vat_part(Decimal("1900.00"), Decimal(rate) if rate else None)

    assert (str(result) if result is not None else None) == part


def test_sandbox_order_is_pending_with_a_payment_page(company: Company) -> None:
    SellerFactory.create()

    order = place_order(company, return_url="https://shop.example/back")

    order.refresh_from_db()
    assert (order.state, order.number, order.vat_rate) == ("pending", "", Decimal(22))
    assert order.payment_url.endswith(f"/sandbox-gateway/{order.payment_id}")
    assert [event.action for event in company.audit.all()] == ["order.created"]


def test_order_opened_twice_has_one_payment(company: Company) -> None:
    order = place_order(company)
    Order.objects.filter(pk=order.pk).update(state="created", payment_id="", payment_url="")
    known = order.payment_id, order.payment_url

    first, second = (orders.open_payment(Order.objects.get()) for _ in range(2))

    assert (first.payment_id, first.payment_url) == known
    assert (second.payment_id, second.payment_url) == known


def test_order_cancelled_while_it_was_opened_stays_cancelled(company: Company) -> None:
    order = place_order(company)
    Order.objects.filter(pk=order.pk).update(state="canceled")

    order.mark_opened(payment_id="x", payment_url="y")

    assert order.state == "canceled"


def test_invoices_are_numbered_by_the_year(company: Company) -> None:
    year = timezone.localdate().year
    InvoiceCounter.objects.create(year=year - 1, last=7)

    numbers = [str(place_order(company, "invoice")) for _ in range(2)]
    with transaction.atomic():
        place_order(company, "invoice")
        transaction.set_rollback(True)

    assert numbers == [f"{year}-1", f"{year}-2"]
    assert str(place_order(company, "invoice")) == f"{year}-3"


@pytest.mark.django_db(transaction=True)
def test_invoices_at_once_leave_no_gap(company: Company) -> None:
    made = at_once([partial(place_order, company, "invoice")] * 20)

    assert sorted(order.invoice_number or 0 for order in made) == list(range(1, 21))


@override_settings(MAX_OPEN_ORDERS=2)
def test_open_orders_of_a_company_are_limited(company: Company) -> None:
    place_order(company)
    place_order(company)

    with pytest.raises(DomainError) as refused:
        place_order(company)

    assert refused.value.message == orders.TOO_MANY_UNPAID
    assert place_order(CompanyFactory.create()).state == "pending"


def test_cancelled_orders_of_a_day_are_limited(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes a number: a stranger could use up 150 a second."""
    monkeypatch.setattr(orders, "MAX_ENDED_UNPAID", 2)
    user = UserFactory.create()
    for _number in range(2):
        orders.cancel(order=place_order(company, "invoice"), user=user)

    with pytest.raises(DomainError) as refused:
        place_order(company, "invoice")

    assert refused.value.message == orders.TOO_MANY_ENDED
    assert place_order(CompanyFactory.create()).state == "pending"
    Order.objects.update(created_at=timezone.now() - timedelta(days=1, seconds=1))
    assert place_order(company, "invoice").invoice_number == 3


@pytest.mark.django_db(transaction=True)
@override_settings(MAX_OPEN_ORDERS=5)
def test_parallel_orders_keep_to_the_limit(company: Company) -> None:
    def place() -> bool:
        try:
            place_order(company)
        except DomainError:
            return False
        return True

    placed = at_once([place] * 24)

    assert (sum(placed), Order.objects.open().count()) == (5, 5)


def test_cancel_is_once_and_recorded(company: Company) -> None:
    order = place_order(company)
    user = UserFactory.create()

    done = [orders.cancel(order=order, user=user) for _ in range(2)]

    assert done == [True, False]
    assert [event.action for event in company.audit.order_by("pk")] == [
        "order.created",
        "order.canceled",
    ]


def test_only_overdue_pending_orders_expire(company: Company) -> None:
    hour_ago = timezone.now() - timedelta(hours=1)
    overdue = OrderFactory.create(company=company, expires_at=hour_ago)
    OrderFactory.create(company=company)
    OrderFactory.create(company=company, expires_at=hour_ago, state="paid", paid_at=hour_ago)

    expire_orders()

    assert list(Order.objects.filter(state="expired")) == [overdue]
    assert Order.objects.filter(state="paid").count() == 1
