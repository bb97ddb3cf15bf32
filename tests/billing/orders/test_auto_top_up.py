"""Automatic top-ups: when one is bought, at what price, and how a failed one ends."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
import responses
from django.test import override_settings
from django.utils import timezone

from accounts.models import Company, Mail
from billing.models import (
    AutomaticOrder,
    AutoTopUp,
    BillingProfile,
    MethodSaving,
    Order,
    Package,
    SavedMethod,
    Tariff,
)
from billing.orders import auto_top_up, method_saving, orders
from tests.api.blocking import start_blocked
from tests.api.races import at_once
from tests.billing.orders import automatic
from tests.billing.orders.automatic import (
    YOOKASSA,
    agree,
    available,
    pause_of,
    save,
    spend,
    user_of,
    yookassa_payment,
)
from tests.billing.top_ups import fill_billing_details, payment_event, place_order, post_webhook
from tests.factories import MemberFactory, OrderFactory, SellerFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wire")]
Pause = AutoTopUp.Pause


def test_low_balance_buys_once(low_payer: Company) -> None:
    agree(low_payer)
    save(low_payer)

    assert [automatic.run() for _ in range(3)] == [1, 0, 0]

    assert available(low_payer) == 1050
    order = Order.objects.get()
    assert (order.state, order.amount, order.created_by) == ("paid", Decimal("1900.00"), None)
    assert Mail.objects.filter(template="top_up_paid").count() == 1


@override_settings(MAX_OPEN_ORDERS=2)
def test_unpaid_orders_of_others_stop_no_automatic_one(
    low_payer: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders, "MAX_ENDED_UNPAID", 1)
    agree(low_payer)
    save(low_payer)
    orders.cancel(order=place_order(low_payer), user=user_of(low_payer))
    Order.objects.bulk_create(OrderFactory.build_batch(2, company=low_payer, state="pending"))

    assert automatic.run() == 1

    assert available(low_payer) == 1050


def test_enough_tokens_buy_nothing(low_payer: Company) -> None:
    agree(low_payer, threshold=50)
    save(low_payer)

    assert automatic.run() == 0


def test_nothing_is_bought_without_consent_or_method(low_payer: Company) -> None:
    save(low_payer)
    assert automatic.run() == 0
    agree(low_payer)
    SavedMethod.objects.all().delete()
    assert automatic.run() == 0
    save(low_payer, "stripe")  # another provider's
    assert automatic.run() == 0


def test_single_tokens_are_bought_at_today_s_price(low_payer: Company) -> None:
    Tariff.objects.create(tokens_from=1, price=Decimal("2.0000"))
    agree(low_payer, package=None, tokens=300)
    save(low_payer)

    automatic.run()

    assert (available(low_payer), Order.objects.get().amount) == (350, Decimal("600.00"))


def test_max_orders_per_day_is_kept(low_payer: Company) -> None:
    agree(low_payer, max_orders_per_day=2)
    save(low_payer)

    for _ in range(4):
        automatic.run()
        spend(low_payer)

    assert Order.objects.count() == 2
    AutomaticOrder.objects.update(day=timezone.localdate() - timedelta(days=1))
    assert automatic.run() == 1


def test_max_amount_per_month_is_kept(low_payer: Company) -> None:
    agree(low_payer, max_amount_per_month=Decimal("3900.00"))
    save(low_payer)

    for _ in range(3):
        automatic.run()
        spend(low_payer)

    assert Order.objects.count() == 2
    last_month = timezone.localdate().replace(day=1) - timedelta(days=1)
    AutomaticOrder.objects.update(day=last_month)
    assert automatic.run() == 1


@pytest.mark.parametrize(
    "over",
    [{"status": Company.Status.SUSPENDED}, {"deleted_at": timezone.now()}],
    ids=["suspended", "deleted"],
)
def test_company_that_cannot_send_buys_nothing(low_payer: Company, over: dict[str, Any]) -> None:
    agree(low_payer)
    save(low_payer)
    Company.objects.update(**over)

    assert automatic.run() == 0


@pytest.mark.parametrize("call", ["turn_off", "remove_method"])
def test_top_ups_turned_off_buy_nothing(low_payer: Company, call: str) -> None:
    agree(low_payer)
    save(low_payer)

    assert getattr(auto_top_up, call)(company=low_payer, user=user_of(low_payer))

    assert automatic.run() == 0
    assert not AutoTopUp.objects.get().is_enabled


class TestCurrency:
    """The company agreed to a sum of one currency; a change of prices is no agreement."""

    @pytest.fixture(autouse=True)
    def prices(self, low_payer: Company) -> None:
        for currency in ("RUB", "USD"):
            Tariff.objects.create(tokens_from=1, price=Decimal("2.0000"), currency=currency)
        agree(low_payer, package=None, tokens=1000, max_amount_per_month=Decimal(10_000))
        save(low_payer)

    @pytest.mark.parametrize("by", ["country", "profile_country", "profile_currency"])
    def test_changed_currency_pauses_the_top_ups(self, low_payer: Company, by: str) -> None:
        BillingProfile.objects.create(company=low_payer)
        if by == "country":
            Company.objects.filter(pk=low_payer.pk).update(country="US")
        else:
            value = "US" if by == "profile_country" else "USD"
            BillingProfile.objects.update(**{by.removeprefix("profile_"): value})

        assert [automatic.run() for _ in range(3)] == [0, 0, 0]

        assert (pause_of(low_payer), Order.objects.count()) == (Pause.CURRENCY, 0)
        assert Mail.objects.get(template="auto_top_up_paused").text.count("другой валюте") == 1
        assert not auto_top_up.resume(company=low_payer, user=user_of(low_payer))

    def test_new_terms_resume_paused_top_ups(self, low_payer: Company) -> None:
        Company.objects.filter(pk=low_payer.pk).update(country="US")
        automatic.run()

        agree(
            low_payer, package=None, tokens=1000, max_amount_per_month=Decimal(5000), currency="USD"
        )

        assert automatic.run() == 1
        assert Order.objects.get().currency == "USD"

    def test_package_in_another_currency_pauses(self, low_payer: Company) -> None:
        agree(low_payer)
        Package.objects.update(currency="USD")

        assert automatic.run() == 0
        assert pause_of(low_payer) == Pause.CURRENCY

    def test_unknown_currency_buys_nothing(self, low_payer: Company) -> None:
        AutoTopUp.objects.update(currency="")

        assert automatic.run() == 0
        assert pause_of(low_payer) == Pause.CURRENCY

    def test_sums_of_another_currency_do_not_count(self, low_payer: Company) -> None:
        automatic.run()
        spend(low_payer)
        Company.objects.filter(pk=low_payer.pk).update(country="US")
        agree(
            low_payer, package=None, tokens=1000, max_amount_per_month=Decimal(2000), currency="USD"
        )

        assert automatic.run() == 1
        assert auto_top_up.spent_this_month(low_payer.pk, "USD") == Decimal(2000)


def test_invoice_is_issued_and_mailed_once(low_payer: Company) -> None:
    SellerFactory.create()
    fill_billing_details(low_payer)
    agree(low_payer, "invoice")

    assert [automatic.run() for _ in range(3)] == [1, 0, 0]

    order = Order.objects.get()
    assert (order.state, order.invoice_number) == ("pending", 1)
    (mail,) = Mail.objects.filter(template="automatic_invoice")
    address, _, _ = order.payment_url.partition(":1")  # signed again wherever it is shown
    assert f"{address}:" in mail.text
    assert order.number in mail.subject


def test_method_is_saved_by_the_first_payment(low_payer: Company) -> None:
    agree(low_payer)
    order = place_order(low_payer, saves_method=True)
    assert (method_saving.save_next_method("sandbox"), SavedMethod.objects.count()) == (False, 0)
    post_webhook(payment_event(order))

    assert [
        method_saving.save_next_method("sandbox"),
        method_saving.save_next_method("sandbox"),
    ] == [
        True,
        False,
    ]

    saved = SavedMethod.objects.get()
    assert (str(saved), saved.gateway) == ("Demo •••• 4242", "sandbox")
    assert MethodSaving.objects.count() == 0


def test_first_payment_that_comes_late_saves_its_method(low_payer: Company) -> None:
    """A bank debit takes days."""
    order = place_order(low_payer, saves_method=True)
    Order.objects.update(expires_at=timezone.now() - timedelta(days=5))
    orders.expire()
    method_saving.save_next_method("sandbox")
    post_webhook(payment_event(order))

    assert method_saving.save_next_method("sandbox")

    expired = place_order(low_payer, saves_method=True)
    Order.objects.filter(pk=expired.pk).update(
        state="expired", expires_at=timezone.now() - timedelta(days=15)
    )
    method_saving.save_next_method("sandbox")
    assert MethodSaving.objects.count() == 0


def test_company_that_never_had_a_token_gets_its_invoice(package: Package) -> None:
    SellerFactory.create()
    company = MemberFactory.create().company
    fill_billing_details(company)
    agree(company, "invoice")

    assert [automatic.run(), automatic.run()] == [1, 0]


def test_first_payment_that_ends_unpaid_saves_nothing(low_payer: Company) -> None:
    order = place_order(low_payer, saves_method=True)
    orders.cancel(order=order, user=user_of(low_payer))

    method_saving.save_next_method("sandbox")

    assert MethodSaving.objects.count() == SavedMethod.objects.count() == 0


@pytest.mark.parametrize("has_one", [True, False])
def test_method_removed_meanwhile_is_not_saved_after_all(
    low_payer: Company, *, has_one: bool
) -> None:
    if has_one:
        save(low_payer)
    order = place_order(low_payer, saves_method=True)
    auto_top_up.remove_method(company=low_payer, user=user_of(low_payer))
    post_webhook(payment_event(order))

    assert not method_saving.save_next_method("sandbox")
    assert SavedMethod.objects.count() == 0


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def test_workers_at_once_buy_once(self, low_payer: Company) -> None:
        agree(low_payer)
        save(low_payer)

        at_once([automatic.run] * 6)

        assert (Order.objects.count(), available(low_payer)) == (1, 1050)

    def test_workers_at_once_charge_once(self, low_payer: Company) -> None:
        agree(low_payer, "yookassa")
        save(low_payer, "yookassa")
        response = yookassa_payment("", metadata={})
        responses.add("POST", YOOKASSA, json=response)

        at_once([automatic.run] * 6)

        keys = {call.request.headers["Idempotence-Key"] for call in responses.calls}
        assert (len(keys), Order.objects.count()) == (1, 1)

    def test_process_that_dies_before_the_credit_loses_nothing(
        self, low_payer: Company, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        agree(low_payer)
        save(low_payer)
        with monkeypatch.context() as patch:
            patch.setattr("billing.orders.payments.apply_event", _die)
            with pytest.raises(KeyboardInterrupt):
                automatic.run()
        assert available(low_payer) == 50

        AutomaticOrder.objects.update(tried_at=timezone.now() - timedelta(minutes=2))
        at_once([automatic.run] * 3)

        assert (available(low_payer), Order.objects.count()) == (1050, 1)

    def test_payment_that_comes_while_the_balance_is_read_is_enough(
        self, low_payer: Company, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        agree(low_payer)
        save(low_payer)
        with monkeypatch.context() as patch:
            patch.setattr("billing.orders.payments.apply_event", _die)
            with pytest.raises(KeyboardInterrupt):
                automatic.run()
        AutomaticOrder.objects.update(tried_at=timezone.now() - timedelta(minutes=2))
        read = auto_top_up._available

        def pay() -> None:
            while auto_top_up.pay_next("sandbox"):
                pass

        def pay_after_reading(company_id: int) -> int:
            result = read(company_id)
            at_once([pay])
            return result

        with monkeypatch.context() as patch:
            patch.setattr(auto_top_up, "_available", pay_after_reading)
            automatic.run()

        assert (available(low_payer), Order.objects.count()) == (1050, 1)

    @pytest.mark.parametrize("has_one", [True, False])
    def test_removal_waits_for_the_method_that_is_being_stored(
        self, low_payer: Company, monkeypatch: pytest.MonkeyPatch, *, has_one: bool
    ) -> None:
        if has_one:
            save(low_payer)
        order = place_order(low_payer, saves_method=True)
        post_webhook(payment_event(order))
        remove = partial(auto_top_up.remove_method, company=low_payer, user=user_of(low_payer))
        store = SavedMethod.objects.update_or_create
        removed = list[Future[bool]]()

        def store_beside_removal(**values: Any) -> tuple[SavedMethod, bool]:
            removed.append(start_blocked(pool, remove))
            return store(**values)

        with ThreadPoolExecutor(1) as pool:
            monkeypatch.setattr(SavedMethod.objects, "update_or_create", store_beside_removal)
            assert method_saving.save_next_method("sandbox")

        assert removed[0].result()
        assert SavedMethod.objects.count() == 0

    def test_removal_beside_a_purchase_never_charges_twice(self, low_payer: Company) -> None:
        agree(low_payer)
        save(low_payer)
        remove = partial(auto_top_up.remove_method, company=low_payer, user=user_of(low_payer))

        calls: list[Callable[[], object]] = [automatic.run, remove, automatic.run]
        at_once(calls)
        automatic.run()

        assert Order.objects.count() <= 1
        assert SavedMethod.objects.count() == 0
        assert not AutoTopUp.objects.get().is_enabled


def _die(*_: Any) -> None:
    raise KeyboardInterrupt
