"""Pauses of automatic top-ups, and their end."""

from typing import Any

import pytest
from django.db.models import F

from accounts.models import Company, Mail
from accounts.people import planned_deletion
from billing.gateways.base import RefundEvent
from billing.models import (
    AutoTopUp,
    Order,
    Package,
    Payment,
)
from billing.orders import auto_top_up, method_saving, refunds
from tests.billing.orders import automatic
from tests.billing.orders.automatic import (
    agree,
    pause_of,
    save,
    user_of,
)
from tests.billing.top_ups import (
    fill_billing_details,
    payment_event,
    place_order,
    post_webhook,
)
from tests.factories import SellerFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wire")]
Pause = AutoTopUp.Pause


class TestPauses:
    def test_package_off_sale_pauses_the_top_ups(self, low_payer: Company) -> None:
        agree(low_payer)
        save(low_payer)
        Package.objects.update(is_active=False)

        assert [automatic.run(), automatic.run()] == [0, 0]

        assert pause_of(low_payer) == Pause.NO_PRICE
        (mail,) = Mail.objects.all()
        assert mail.template == "auto_top_up_paused"
        assert "больше не продаётся" in mail.text

    def test_price_above_monthly_limit_pauses(self, low_payer: Company) -> None:
        agree(low_payer)
        save(low_payer)
        Package.objects.update(price=F("price") * 1000)

        assert [automatic.run(), automatic.run()] == [0, 0]

        assert (pause_of(low_payer), Order.objects.count()) == (Pause.PRICE, 0)
        assert "дороже, чем вы разрешили" in Mail.objects.get().text
        assert not auto_top_up.resume(company=low_payer, user=user_of(low_payer))

    def test_invoice_without_billing_details_pauses_the_top_ups(self, low_payer: Company) -> None:
        agree(low_payer, "invoice")

        automatic.run()

        assert pause_of(low_payer) == Pause.BILLING_DETAILS

    def test_removed_gateway_pauses_the_top_ups(self, low_payer: Company, settings: Any) -> None:
        agree(low_payer)
        save(low_payer)
        settings.PAYMENT_GATEWAYS = ["invoice"]

        automatic.run()

        assert pause_of(low_payer) == Pause.NO_GATEWAY

    def test_money_taken_back_pauses_until_a_person_resumes(self, low_payer: Company) -> None:
        agree(low_payer)
        save(low_payer)
        automatic.run()
        paid = Payment.objects.get()
        refunds.apply_event("sandbox", RefundEvent("re_1", paid.payment_id, paid.amount, "RUB"))

        assert [automatic.run(), automatic.run()] == [0, 0]
        assert (pause_of(low_payer), Order.objects.count()) == (Pause.REFUNDED, 1)
        assert auto_top_up.resume(company=low_payer, user=user_of(low_payer))
        assert automatic.run() == 1

    def test_refunded_first_payment_pauses_as_well(self, low_payer: Company) -> None:
        """It saved the card, which may be a stolen one."""
        agree(low_payer)
        post_webhook(payment_event(place_order(low_payer, saves_method=True)))
        method_saving.save_next_method("sandbox")
        paid = Payment.objects.get()
        refunds.apply_event("sandbox", RefundEvent("dp_1", paid.payment_id, paid.amount, "RUB"))

        automatic.run()

        assert (pause_of(low_payer), Order.objects.count()) == (Pause.REFUNDED, 1)

    def test_company_that_is_to_be_deleted_buys_nothing(self, low_payer: Company) -> None:
        agree(low_payer)
        save(low_payer)
        planned_deletion.request(company=low_payer, user=user_of(low_payer))

        assert (automatic.run(), Order.objects.count()) == (0, 0)
        planned_deletion.call_off(company=low_payer, user=user_of(low_payer))
        assert automatic.run() == 1

    def test_unpaid_order_pauses_once_and_resumes(self, low_payer: Company) -> None:
        SellerFactory.create()
        fill_billing_details(low_payer)
        agree(low_payer, "invoice")
        automatic.run()
        Order.objects.update(state="expired")

        assert [automatic.run(), automatic.run()] == [0, 0]
        assert pause_of(low_payer) == Pause.UNPAID
        assert Mail.objects.filter(template="auto_top_up_paused").count() == 1

        assert auto_top_up.resume(company=low_payer, user=user_of(low_payer))
        assert not auto_top_up.resume(company=low_payer, user=user_of(low_payer))
        assert automatic.run() == 1
