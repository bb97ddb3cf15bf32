"""The contract of every provider that notifies us: each payment credits once, whatever comes."""

from datetime import timedelta
from functools import partial

import pytest
import responses
from django.utils import timezone

from accounts.models import Company
from billing.models import Order, Payment, Refund, Transfer
from billing.orders import orders, polling, refunds
from billing.wallet import ledger
from catalogue.errors import DomainError, Error
from tests.api.clients import Api
from tests.api.races import at_once
from tests.billing.gateways.vendors import (
    Vendor,
    YooKassaVendor,
)
from tests.factories import CompanyFactory, TariffFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wire")]


def balance(company: Company) -> int:
    return ledger.balance(company.pk)[0]


def problems() -> list[str]:
    return list(Payment.objects.order_by("pk").values_list("problem", flat=True))


def test_order_leads_to_the_provider(vendor: Vendor, payer: Company) -> None:
    order = vendor.place(payer)

    assert (order.state, order.payment_id) == ("pending", "pay-1")
    assert order.payment_page.startswith("https://")


def test_webhook_credits_once_however_often_it_comes(vendor: Vendor, payer: Company) -> None:
    order = vendor.place(payer)

    statuses = [vendor.notify(order) for _time in range(3)]

    assert statuses == [200, 200, 200]
    assert (balance(payer), problems()) == (1000, [""])


def test_webhook_before_the_payment_is_stored(vendor: Vendor, payer: Company) -> None:
    """The process died after the provider had opened the payment."""
    if not vendor.names_orders:
        pytest.skip("nobody has seen the link, and the next try makes another")
    order = vendor.place(payer)
    Order.objects.update(state="created", payment_url="", payment_id="")

    vendor.notify(order)
    opened = orders.open_payment(Order.objects.get())

    assert (balance(payer), opened.state) == (1000, "paid")


def test_unconfirmed_payment_credits_nothing(vendor: Vendor, payer: Company) -> None:
    assert vendor.notify(vendor.place(payer), "open") == 200
    assert (balance(payer), problems()) == (0, [])


def test_forged_webhook_is_refused(vendor: Vendor, payer: Company) -> None:
    assert vendor.forge(vendor.place(payer)) == 403
    assert balance(payer) == 0


def test_cancellation_ends_the_order_and_a_late_payment_still_counts(
    vendor: Vendor, payer: Company
) -> None:
    order = vendor.place(payer)

    vendor.notify(order, "canceled")
    ended = Order.objects.get().state
    vendor.notify(order)
    vendor.notify(order, "canceled")

    assert (ended, Order.objects.get().state) == ("canceled", "paid")
    assert (balance(payer), problems()) == (1000, ["late"])


@pytest.mark.parametrize(
    ("changes", "problem"),
    [({"amount": "1899.99"}, "wrong_amount"), ({"currency": "USD"}, "wrong_currency")],
)
def test_payment_that_does_not_fit_is_shown(
    vendor: Vendor, payer: Company, changes: dict[str, str], problem: str
) -> None:
    if "currency" in changes and vendor.name == "tbank":
        pytest.skip("SBP is in roubles")
    assert vendor.notify(vendor.place(payer), **changes) == 200
    assert (balance(payer), problems()) == (0, [problem])


def test_second_payment_credits_nothing(vendor: Vendor, payer: Company) -> None:
    order = vendor.place(payer)

    vendor.notify(order)
    vendor.notify(order, payment_id="pay-2")

    problem = "second" if vendor.names_orders else "unknown_order"
    assert (balance(payer), problems()) == (1000, ["", problem])


@pytest.mark.django_db(transaction=True)
def test_parallel_webhooks_credit_once(vendor: Vendor) -> None:
    payer = CompanyFactory.create()
    order = vendor.place(payer)

    statuses = at_once([partial(vendor.notify, order)] * 4)

    assert set(statuses) == {200}
    assert (balance(payer), Transfer.objects.filter(kind="top_up").count()) == (1000, 1)


@pytest.mark.parametrize(("state", "tokens"), [("paid", 1000), ("canceled", 0), ("open", 0)])
def test_payment_with_a_lost_webhook_is_polled(
    vendor: Vendor, payer: Company, state: str, tokens: int
) -> None:
    order = vendor.place(payer)
    vendor.knows(order, state)
    early = polling.poll_next(vendor.name)
    Order.objects.update(created_at=timezone.now() - timedelta(minutes=2))

    polled = [polling.poll_next(vendor.name), polling.poll_next(vendor.name)]

    assert [early, *polled] == [False, True, False]
    assert balance(payer) == tokens


def test_overdue_order_ends_after_a_poll(vendor: Vendor, payer: Company) -> None:
    order = vendor.place(payer)
    vendor.knows(order, "open")
    long_ago = timezone.now() - timedelta(days=2)
    Order.objects.update(
        created_at=long_ago, expires_at=long_ago + timedelta(days=1), asked_at=long_ago
    )

    ended = [orders.expire()]
    polling.poll_next(vendor.name)
    ended.append(orders.expire())

    assert ended == [0, 1]


def test_refunds_take_back_their_share_and_no_more(vendor: Vendor, payer: Company) -> None:
    order = vendor.place(payer, amount="10.00", tokens=1000)
    vendor.notify(order)

    left = []
    for refund_id, amount in (("r1", "3.33"), ("r1", "3.33"), ("r2", "3.33"), ("r3", "3.34")):
        assert vendor.refund(order, refund_id, amount) == 200
        left.append(balance(payer))

    assert left == [667, 667, 334, 0]
    assert Refund.objects.needs_review().count() == 0


def test_spent_tokens_are_owed(vendor: Vendor, payer: Company) -> None:
    order = vendor.place(payer)
    vendor.notify(order)
    ledger.withdraw(company=payer, amount=700, reason="spent")

    vendor.refund(order, "r1", "1900.00")

    refund = Refund.objects.get()
    assert (balance(payer), refund.taken, refund.owed) == (0, 300, 700)
    assert Refund.objects.needs_review().get() == refund


def test_refund_before_its_payments_webhook(vendor: Vendor, payer: Company) -> None:
    order = vendor.place(payer)

    assert vendor.refund(order, "r1", "950.00") == 200
    waiting = Refund.objects.needs_review().count()
    vendor.notify(order)

    assert (waiting, balance(payer), Refund.objects.needs_review().count()) == (1, 500, 0)


@pytest.mark.django_db(transaction=True)
def test_refund_beside_its_payments_webhook(vendor: Vendor) -> None:
    payer = CompanyFactory.create()
    order = vendor.place(payer)
    refund = partial(vendor.refund, order, "r1", "950.00")

    at_once([partial(vendor.notify, order), refund, refund])

    assert (balance(payer), Refund.objects.count()) == (500, 1)


def test_next_webhook_credits_after_a_crash(
    vendor: Vendor, payer: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = vendor.place(payer)

    class Killed(BaseException):
        pass

    def die(*_args: object, **_kwargs: object) -> None:
        raise Killed

    for module in (ledger, refunds):
        name = "top_up" if module is ledger else "apply_waiting"
        with monkeypatch.context() as patch:
            patch.setattr(module, name, die)
            with pytest.raises(Killed):
                vendor.notify(order)
        assert (balance(payer), Payment.objects.count()) == (0, 0)

    vendor.notify(order)
    assert balance(payer) == 1000


@pytest.mark.parametrize("status", [401, 429, 500])
def test_provider_that_refuses_leaves_the_order_to_a_retry(
    vendor: Vendor, payer: Company, status: int
) -> None:
    (opens,) = [response for response in responses.registered() if response.method == "POST"]
    responses.upsert("POST", opens.url, json={"error": {"message": "no"}}, status=status)

    with pytest.raises(DomainError):
        vendor.place(payer)
    vendor.opens("pay-9")
    early = polling.poll_next(vendor.name)
    Order.objects.update(created_at=timezone.now() - timedelta(minutes=2))
    polled = polling.poll_next(vendor.name)

    order = Order.objects.get()
    assert (early, polled, order.state, order.payment_id) == (False, True, "pending", "pay-9")


def test_order_that_a_provider_never_opened_ends_unpolled(vendor: Vendor, payer: Company) -> None:
    order = vendor.place(payer)
    Order.objects.update(
        state="created",
        payment_id="",
        created_at=timezone.now() - timedelta(days=9),
        expires_at=timezone.now() - timedelta(minutes=1),
    )

    assert (polling.poll_next(vendor.name), orders.expire()) == (False, 1)
    order.refresh_from_db()
    assert order.state == "expired"


def test_order_in_an_unsupported_currency_is_not_placed(payer: Company) -> None:
    vendor = YooKassaVendor()
    vendor.currency = "USD"

    with pytest.raises(DomainError) as refused:
        vendor.place(payer)

    assert "USD" in str(refused.value.body(request_id="")["errors"]["gateway"])
    assert not Order.objects.exists()


@pytest.mark.parametrize(
    ("status", "error", "state"),
    [(400, Error.INVALID_INPUT, "canceled"), (401, Error.UNAVAILABLE, "created")],
)
def test_order_that_the_provider_refuses_for_good_has_ended(
    vendor: Vendor, payer: Company, status: int, error: Error, state: str
) -> None:
    (response,) = [response for response in responses.registered() if response.method == "POST"]
    responses.upsert(
        "POST", response.url, json={"error": {"code": "amount_too_small"}}, status=status
    )

    with pytest.raises(DomainError) as refused:
        vendor.place(payer)

    assert (refused.value.error, Order.objects.get().state) == (error, state)


def test_key_of_a_top_up_that_the_provider_refuses_may_be_used_again(
    vendor: Vendor, api: Api
) -> None:
    TariffFactory.create()
    (response,) = [response for response in responses.registered() if response.method == "POST"]
    responses.upsert("POST", response.url, json={"error": {"code": "too_large"}}, status=400)
    wish = {"tokens": 1_000, "gateway": vendor.name}

    refused = [api.post("/top-up", wish, Idempotency_Key="order-17") for _try in range(2)]
    vendor.opens("pay-9")
    taken = api.post("/top-up", wish | {"tokens": 100}, Idempotency_Key="order-17")

    assert [(each.status, each.code) for each in refused] == [(422, "invalid_input")] * 2
    assert (taken.status, taken.body["status"], taken.body["tokens"]) == (200, "pending", 100)
    states = Order.objects.order_by("created_at").values_list("state", flat=True)
    assert list(states) == ["canceled", "canceled", "pending"]


def test_provider_that_is_down_when_an_order_ends_is_polled_again(
    vendor: Vendor, payer: Company
) -> None:
    order = vendor.place(payer)
    vendor.knows(order, "paid")
    (response,) = [response for response in responses.registered() if response.method == "GET"]
    responses.upsert("GET", response.url, json={}, status=503)
    hour = timedelta(hours=1)
    Order.objects.update(created_at=timezone.now() - 24 * hour, expires_at=timezone.now() - hour)

    polling.poll_next(vendor.name)
    ended = orders.expire()
    vendor.knows(order, "paid")
    Order.objects.update(expires_at=timezone.now() + timedelta(seconds=1), asked_at=None)
    polling.poll_next(vendor.name)

    assert (ended, balance(payer), problems()) == (0, 1000, [""])


def test_provider_down_for_days_lets_orders_end(vendor: Vendor, payer: Company) -> None:
    order = vendor.place(payer)
    vendor.knows(order, "paid")
    (response,) = [response for response in responses.registered() if response.method == "GET"]
    responses.upsert("GET", response.url, json={}, status=503)
    day = timedelta(days=1)
    Order.objects.update(created_at=timezone.now() - 5 * day, expires_at=timezone.now() - day)

    polling.poll_next(vendor.name)

    assert orders.expire() == 1


@pytest.mark.parametrize("response", [{}, {"status": 7}, {"id": None, "amount": []}])
def test_malformed_answer_leaves_the_order_as_it_was(
    vendor: Vendor, payer: Company, response: dict[str, object]
) -> None:
    order = vendor.place(payer)
    vendor.knows(order, "paid")
    (known,) = [response for response in responses.registered() if response.method == "GET"]
    responses.upsert("GET", known.url, json=response)
    Order.objects.update(created_at=timezone.now() - timedelta(minutes=2))

    assert polling.poll_next(vendor.name)
    assert (Order.objects.get().state, balance(payer)) == ("pending", 0)
