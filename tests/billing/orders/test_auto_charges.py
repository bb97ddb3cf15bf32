"""YooKassa and Stripe charge a saved card."""

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
import requests
import responses
from django.utils import timezone

from accounts.models import Company, Mail
from billing.gateways.base import GatewayError, PaymentEvent, PaymentState
from billing.models import AutomaticOrder, Order, Package, Payment, SavedMethod
from billing.orders import auto_top_up, method_saving, payments
from billing.wallet import ledger
from tests.billing.gateways.vendors import StripeVendor
from tests.billing.orders import automatic
from tests.billing.orders.automatic import (
    STRIPE,
    YOOKASSA,
    agree,
    available,
    pause_of,
    save,
    user_of,
    yookassa_payment,
)
from tests.billing.top_ups import gateway, place_order
from tests.factories import MemberFactory

# An object that a parameter names is missing with 400; 404 is for one that the path names.
NO_METHOD = {
    "code": "resource_missing",
    "doc_url": "https://stripe.com/docs/error-codes/resource-missing",
    "message": "No such PaymentMethod: 'm-1'",
    "param": "payment_method",
    "type": "invalid_request_error",
}
DETACHED = {
    "message": "The provided PaymentMethod was previously used with a PaymentIntent without "
    "Customer attachment, shared with a connected account without Customer attachment, or was "
    "detached from a Customer. It may not be used again. To use a PaymentMethod multiple times, "
    "you must attach it to a Customer first.",
    "type": "invalid_request_error",
}
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wire")]


class TestYooKassa:
    def start(self, low_payer: Company) -> Order:
        """Returns the order, committed before a call that got no answer."""
        agree(low_payer, "yookassa")
        save(low_payer, "yookassa")
        responses.add("POST", YOOKASSA, body=requests.ConnectionError())
        automatic.run()
        return Order.objects.get()

    def again(self) -> None:
        AutomaticOrder.objects.update(tried_at=timezone.now() - timedelta(minutes=2))
        automatic.run()

    def test_unknown_outcome_is_repeated_with_the_same_key(self, low_payer: Company) -> None:
        order = self.start(low_payer)
        assert (order.state, available(low_payer)) == ("created", 50)
        responses.upsert("POST", YOOKASSA, json=yookassa_payment(order.pk.hex))

        self.again()

        assert available(low_payer) == 1050
        keys = {call.request.headers["Idempotence-Key"] for call in responses.calls}
        bodies = {call.request.body for call in responses.calls}
        assert (keys, len(bodies), len(responses.calls)) == ({order.pk.hex}, 1, 2)
        assert Order.objects.count() == 1

    @pytest.mark.parametrize("end", ["turn_off", "remove_method", "suspend"])
    def test_nothing_is_charged_after_the_end_of_consent(
        self, low_payer: Company, end: str
    ) -> None:
        order = self.start(low_payer)
        responses.upsert("POST", YOOKASSA, json=yookassa_payment(order.pk.hex))

        if end == "suspend":
            Company.objects.update(status=Company.Status.SUSPENDED)
        else:
            assert getattr(auto_top_up, end)(company=low_payer, user=user_of(low_payer))
        self.again()

        assert (len(responses.calls), available(low_payer)) == (1, 50)

    def test_card_removed_while_others_are_charged_is_not_charged(self, low_payer: Company) -> None:
        both = [low_payer, MemberFactory.create().company]
        ledger.grant(company=both[1], amount=50, reason="test")
        for company in both:
            agree(company, "yookassa")
            save(company, "yookassa")

        def charge(request: requests.PreparedRequest) -> tuple[int, dict[str, str], str]:
            order_id = str(request.headers["Idempotence-Key"])
            other = Order.objects.exclude(pk=order_id).get().company
            auto_top_up.remove_method(company=other, user=user_of(other))
            return 200, {}, json.dumps(yookassa_payment(order_id))

        responses.add_callback("POST", YOOKASSA, charge)

        automatic.run()

        assert sorted(Order.objects.values_list("state", flat=True)) == ["canceled", "paid"]
        assert len(responses.calls) == 1

    def test_webhook_of_a_charge_credits_it_after_the_end_of_consent(
        self, low_payer: Company
    ) -> None:
        order = self.start(low_payer)
        auto_top_up.remove_method(company=low_payer, user=user_of(low_payer))
        event = PaymentEvent("p-1", order.pk.hex, order.amount, order.currency, PaymentState.PAID)

        payments.apply_event("yookassa", event)

        assert available(low_payer) == 1050

    def test_no_second_call_within_a_minute(self, low_payer: Company) -> None:
        self.start(low_payer)

        automatic.run()

        assert len(responses.calls) == 1

    def test_decline_pauses_and_notifies_the_owners(self, low_payer: Company) -> None:
        order = self.start(low_payer)
        details = {"party": "payment_network", "reason": "insufficient_funds"}
        declined = yookassa_payment(
            order.pk.hex, status="canceled", paid=False, cancellation_details=details
        )
        responses.upsert("POST", YOOKASSA, json=declined)

        self.again()
        self.again()

        order.refresh_from_db()
        assert (order.state, pause_of(low_payer), available(low_payer)) == (
            "canceled",
            "declined",
            50,
        )
        (mail,) = Mail.objects.filter(template="auto_top_up_paused")
        assert "платёж отклонён" in mail.text
        assert len(responses.calls) == 2

    def test_pending_charge_is_not_repeated(self, low_payer: Company) -> None:
        order = self.start(low_payer)
        pending = yookassa_payment(order.pk.hex, status="pending", paid=False)
        responses.upsert("POST", YOOKASSA, json=pending)

        self.again()
        self.again()

        order.refresh_from_db()
        assert (order.state, order.payment_id) == ("pending", pending["id"])
        assert len(responses.calls) == 2

    def test_charge_with_a_lost_answer_counts_after_its_order_has_ended(
        self, low_payer: Company
    ) -> None:
        order = self.start(low_payer)
        user = user_of(low_payer)
        auto_top_up.turn_off(company=low_payer, user=user)
        agree(low_payer, "yookassa", max_amount_per_month=order.amount)

        self.again()

        assert Order.objects.count() == 1
        agree(low_payer, "yookassa", max_amount_per_month=2 * order.amount)
        self.again()
        assert Order.objects.count() == 2

    def test_declined_charge_does_not_count(self, low_payer: Company) -> None:
        agree(low_payer, "yookassa")
        save(low_payer, "yookassa")
        declined = yookassa_payment("", status="canceled", paid=False)
        responses.add("POST", YOOKASSA, json=declined)

        automatic.run()

        assert pause_of(low_payer) == "declined"
        assert auto_top_up.spent_this_month(low_payer.pk, "RUB") == 0

    @pytest.mark.parametrize("has_one", [True, False])
    def test_payment_that_saves_nothing_pauses_and_notifies(
        self, low_payer: Company, *, has_one: bool
    ) -> None:
        agree(low_payer, "yookassa")
        if has_one:
            save(low_payer, "yookassa")
        confirmation = {"type": "redirect", "confirmation_url": "https://yoomoney.ru/pay"}
        opened = yookassa_payment("", status="pending", confirmation=confirmation)
        responses.add("POST", YOOKASSA, json=opened)
        order = place_order(low_payer, "yookassa", saves_method=True)
        Order.objects.update(state="paid", paid_at=timezone.now())
        unsaved = {"type": "bank_card", "id": opened["id"], "saved": False}
        paid = yookassa_payment(order.pk.hex, payment_method=unsaved)
        responses.add("GET", f"{YOOKASSA}/{opened['id']}", json=paid)

        method_saving.save_next_method("yookassa")

        assert pause_of(low_payer) == ("" if has_one else "not_saved")
        mails = Mail.objects.filter(template="auto_top_up_paused")
        told = ["оплата не сохранила карту" in " ".join(mail.text.split()) for mail in mails]
        assert told == ([] if has_one else [True])

    def test_card_is_saved_and_shown_masked(self, low_payer: Company) -> None:
        confirmation = {"type": "redirect", "confirmation_url": "https://yoomoney.ru/pay"}
        opened = yookassa_payment("", status="pending", confirmation=confirmation)
        responses.add("POST", YOOKASSA, json=opened)
        order = place_order(low_payer, "yookassa", saves_method=True)
        assert '"save_payment_method": true' in str(responses.calls[0].request.body)
        Order.objects.update(state="paid", paid_at=timezone.now())
        responses.add("GET", f"{YOOKASSA}/{opened['id']}", json=yookassa_payment(order.pk.hex))

        method_saving.save_next_method("yookassa")

        saved = SavedMethod.objects.get()
        assert (str(saved), saved.method_id) == ("MasterCard •••• 4444", opened["id"])


class TestStripe:
    @pytest.fixture(autouse=True)
    def in_euros(self, low_payer: Company) -> None:
        Package.objects.update(currency="EUR", price=Decimal("19.00"))
        agree(low_payer, "stripe", max_amount_per_month=Decimal(100))
        save(low_payer, "stripe")

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

    def test_charge_names_customer_method_and_key(self, low_payer: Company) -> None:
        responses.add("POST", STRIPE, json=self.intent("processing"))

        automatic.run()

        order = Order.objects.get()
        sent = responses.calls[0].request
        assert (order.state, order.payment_id) == ("pending", "pi_1")
        assert sent.headers["Idempotency-Key"] == f"kvitok-charge-{order.pk.hex}"
        for part in ("off_session=true", "confirm=true", "customer=cus_1", "payment_method=m-1"):
            assert part in str(sent.body)

    def test_declined_card_pauses_the_top_ups_and_cancels_the_order(
        self, low_payer: Company
    ) -> None:
        error = {
            "type": "card_error",
            "code": "card_declined",
            "message": "Your card was declined.",
        }
        responses.add("POST", STRIPE, json={"error": error}, status=402)

        automatic.run()

        assert (pause_of(low_payer), Order.objects.get().state) == ("declined", "canceled")

    @pytest.mark.parametrize("error", [NO_METHOD, DETACHED], ids=["deleted", "detached"])
    def test_method_that_is_gone_pauses(self, low_payer: Company, error: dict[str, str]) -> None:
        responses.add("POST", STRIPE, json={"error": error}, status=400)

        automatic.run()

        assert (pause_of(low_payer), Order.objects.get().state) == ("declined", "canceled")

    def test_repeat_that_differs_decides_nothing(self, low_payer: Company) -> None:
        error = {"type": "idempotency_error", "message": "Keys for idempotent requests …"}
        responses.add("POST", STRIPE, json={"error": error}, status=400)

        automatic.run()

        assert (pause_of(low_payer), Order.objects.get().state) == ("", "created")

    @pytest.mark.parametrize("payment_intent", ["pi_1", [1], 7])
    def test_method_is_read_only_of_an_expanded_payment(
        self, low_payer: Company, payment_intent: object
    ) -> None:
        responses.add(
            "GET",
            f"{StripeVendor.url}/cs_1",
            json={"id": "cs_1", "customer": "cus_1", "payment_intent": payment_intent},
        )

        with pytest.raises(GatewayError):
            gateway("stripe").method_of("cs_1")

    @pytest.mark.parametrize("status", [400, 401, 404, 409, 429, 500])
    def test_other_refusals_decide_nothing(self, low_payer: Company, status: int) -> None:
        responses.add("POST", STRIPE, json={"error": {"message": "x"}}, status=status)

        automatic.run()

        assert (pause_of(low_payer), Order.objects.get().state) == ("", "created")

    def test_webhook_credits_a_charge_once(self, low_payer: Company) -> None:
        responses.add("POST", STRIPE, json=self.intent("processing"))
        automatic.run()
        order = Order.objects.get()
        what = self.intent() | {"metadata": {"order": order.pk.hex, "automatic": "true"}}

        assert [StripeVendor().post("payment_intent.succeeded", what) for _ in range(2)] == [
            200
        ] * 2
        assert available(low_payer) == 1050
        own_session = what | {"id": "pi_2", "metadata": {"order": order.pk.hex}}
        StripeVendor().post("payment_intent.succeeded", own_session)
        assert Payment.objects.count() == 1
