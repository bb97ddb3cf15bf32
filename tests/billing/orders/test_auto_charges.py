"""Charges of saved methods, as YooKassa and Stripe document them."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
import requests
import responses
from django.utils import timezone

from accounts.models import Company, Mail
from billing.models import AutomaticOrder, Order, Package, Payment, SavedMethod
from billing.orders import auto_top_up, saved_methods
from tests.billing.gateways.vendors import StripeVendor
from tests.billing.orders import automatic
from tests.billing.orders.automatic import (
    STRIPE,
    YOOKASSA,
    agree,
    available,
    pause_of,
    save,
    yookassa_payment,
)
from tests.billing.top_ups import place_order

pytestmark = pytest.mark.django_db
wire, package, payer = automatic.wire, automatic.package, automatic.payer


class TestYooKassa:
    def start(self, payer: Company) -> Order:
        """The order, committed before a call that did not answer."""
        agree(payer, "yookassa")
        save(payer, "yookassa")
        responses.add("POST", YOOKASSA, body=requests.ConnectionError())
        auto_top_up.run()
        return Order.objects.get()

    def again(self) -> None:
        AutomaticOrder.objects.update(tried_at=timezone.now() - timedelta(minutes=2))
        auto_top_up.run()

    def test_unknown_outcome_is_asked_with_the_same_key(self, payer: Company) -> None:
        order = self.start(payer)
        assert (order.state, available(payer)) == ("created", 50)
        responses.upsert("POST", YOOKASSA, json=yookassa_payment(order.pk.hex))

        self.again()

        assert available(payer) == 1050
        keys = {call.request.headers["Idempotence-Key"] for call in responses.calls}
        bodies = {call.request.body for call in responses.calls}
        assert (keys, len(bodies), len(responses.calls)) == ({order.pk.hex}, 1, 2)
        assert Order.objects.count() == 1

    def test_no_second_call_within_a_minute(self, payer: Company) -> None:
        self.start(payer)

        auto_top_up.run()

        assert len(responses.calls) == 1

    def test_decline_pauses_and_tells_the_owners(self, payer: Company) -> None:
        order = self.start(payer)
        details = {"party": "payment_network", "reason": "insufficient_funds"}
        declined = yookassa_payment(
            order.pk.hex, status="canceled", paid=False, cancellation_details=details
        )
        responses.upsert("POST", YOOKASSA, json=declined)

        self.again()
        self.again()

        order.refresh_from_db()
        assert (order.state, pause_of(payer), available(payer)) == ("canceled", "declined", 50)
        (mail,) = Mail.objects.filter(template="auto_top_up_paused")
        assert "платёж отклонён" in mail.text
        assert len(responses.calls) == 2

    def test_pending_charge_is_left_to_notices(self, payer: Company) -> None:
        order = self.start(payer)
        pending = yookassa_payment(order.pk.hex, status="pending", paid=False)
        responses.upsert("POST", YOOKASSA, json=pending)

        self.again()
        self.again()

        order.refresh_from_db()
        assert (order.state, order.payment_id) == ("pending", pending["id"])
        assert len(responses.calls) == 2

    def test_card_is_saved_and_shown_masked(self, payer: Company) -> None:
        confirmation = {"type": "redirect", "confirmation_url": "https://yoomoney.ru/pay"}
        opened = yookassa_payment("", status="pending", confirmation=confirmation)
        responses.add("POST", YOOKASSA, json=opened)
        order = place_order(payer, "yookassa", saves_method=True)
        assert '"save_payment_method": true' in str(responses.calls[0].request.body)
        Order.objects.update(state="paid", paid_at=timezone.now())
        responses.add("GET", f"{YOOKASSA}/{opened['id']}", json=yookassa_payment(order.pk.hex))

        saved_methods.keep()

        saved = SavedMethod.objects.get()
        assert (str(saved), saved.method_id) == ("MasterCard •••• 4444", opened["id"])


class TestStripe:
    @pytest.fixture(autouse=True)
    def in_euros(self, payer: Company) -> None:
        Package.objects.update(currency="EUR", price=Decimal("19.00"))
        agree(payer, "stripe", sum_a_month=Decimal(100))
        save(payer, "stripe")

    def intent(self, status: str = "succeeded") -> dict[str, Any]:
        return {
            "id": "pi_1",
            "object": "payment_intent",
            "status": status,
            "amount": 1900,
            "amount_received": 1900 if status == "succeeded" else 0,
            "currency": "eur",
            "metadata": {"order": "", "automatic": "true"},
        }

    def test_charge_names_customer_method_and_key(self, payer: Company) -> None:
        responses.add("POST", STRIPE, json=self.intent("processing"))

        auto_top_up.run()

        order, sent = Order.objects.get(), responses.calls[0].request
        assert (order.state, order.payment_id) == ("pending", "pi_1")
        assert sent.headers["Idempotency-Key"] == f"kvitok-charge-{order.pk.hex}"
        for part in ("off_session=true", "confirm=true", "customer=cus_1", "payment_method=m-1"):
            assert part in str(sent.body)

    def test_decline_pauses(self, payer: Company) -> None:
        error = {
            "type": "card_error",
            "code": "card_declined",
            "message": "Your card was declined.",
        }
        responses.add("POST", STRIPE, json={"error": error}, status=402)

        auto_top_up.run()

        assert (pause_of(payer), Order.objects.get().state) == ("declined", "canceled")

    @pytest.mark.parametrize("status", [400, 401, 409, 429, 500])
    def test_other_refusals_decide_nothing(self, payer: Company, status: int) -> None:
        responses.add("POST", STRIPE, json={"error": {"message": "x"}}, status=status)

        auto_top_up.run()

        assert (pause_of(payer), Order.objects.get().state) == ("", "created")

    def test_notice_credits_a_charge_once(self, payer: Company) -> None:
        responses.add("POST", STRIPE, json=self.intent("processing"))
        auto_top_up.run()
        order = Order.objects.get()
        what = self.intent() | {"metadata": {"order": order.pk.hex, "automatic": "true"}}

        assert [StripeVendor().post("payment_intent.succeeded", what) for _ in range(2)] == [
            200
        ] * 2
        assert available(payer) == 1050
        own_session = what | {"id": "pi_2", "metadata": {"order": order.pk.hex}}
        StripeVendor().post("payment_intent.succeeded", own_session)
        assert Payment.objects.count() == 1
