"""Each invariant, broken on purpose, is reported by its check."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Company
from api.models import IdempotentRequest
from billing.models import Wallet
from catalogue.ids import uuid7
from channels.models import Attempt, Message, Receipt
from otp.models import Verification
from tests.factories import AttemptFactory, MessageFactory, ReceiptFactory
from tests.sql import execute
from tests.tools.chaos.checks.scenarios import ORDER, World
from tools.chaos import checks
from tools.chaos.checks import CHECKS, violations

pytestmark = pytest.mark.django_db
Break = Callable[[World], None]
BREAKS: list[tuple[str, Break]] = []


def breaks(check: str) -> Callable[[Break], Break]:
    def kept(make: Break) -> Break:
        BREAKS.append((check, make))
        return make

    return kept


def without(guard: str) -> None:
    """A mutant: one of the database's own guards is gone."""
    execute("SET CONSTRAINTS ALL IMMEDIATE")  # else the table is busy
    execute(guard)


@breaks("I1 answered")
def an_order_that_only_ever_met_a_dead_line(world: World) -> None:
    world.orders.append(world.order("order-2"))
    world.calls.append(world.call("order-2", status=0, message_id=None))
    world.calls.append(world.call("order-2", status=503, message_id=None))


@breaks("I1 kept")
def an_answer_whose_message_is_not_there(world: World) -> None:
    world.calls = [world.call(ORDER, message_id=uuid7())]


@breaks("I1 kept")
def an_answer_that_names_the_message_of_another_phone(world: World) -> None:
    world.calls = [world.call(ORDER, message_id=MessageFactory.create().id)]


@breaks("I1 tried")
def a_message_that_nobody_tried_to_send(world: World) -> None:
    Message.objects.update(tries=0, state="expired")


@breaks("I2 one message")
def a_key_with_two_messages(world: World) -> None:
    second = world.add_message()
    world.calls.append(world.call(ORDER, message_id=second.id))


@breaks("I2 one message")
def a_message_without_a_key(world: World) -> None:
    IdempotentRequest.objects.all().delete()


@breaks("I2 one message")
def a_key_kept_twice(world: World) -> None:
    without("ALTER TABLE api_idempotentrequest DROP CONSTRAINT idempotency_key_once")
    world.store_request(world.add_message(), key=ORDER)


@breaks("I2 one message")
def more_messages_than_orders(world: World) -> None:
    world.add_message()
    world.orders.pop()


@breaks("I2 one answer")
def two_answers_under_one_key(world: World) -> None:
    world.calls.append(world.call(ORDER, body="{}"))


@breaks("I2 one answer")
def an_answer_other_than_the_one_that_is_kept(world: World) -> None:
    IdempotentRequest.objects.update(status=None, body=None)


@breaks("I3 resolved once")
def a_final_message_whose_hold_is_open(world: World) -> None:
    world.add_message(state="expired")


@breaks("I3 resolved once")
def an_open_message_whose_hold_was_resolved(world: World) -> None:
    world.transfer(world.add_message(state="sent"), "release")


@breaks("I3 resolved once")
def a_hold_resolved_twice(world: World) -> None:
    world.hold(world.message, n=2)
    world.transfer(world.message, "release", n=2)


@breaks("I4 wallets")
def a_wallet_that_is_not_the_sum_of_its_transfers(world: World) -> None:
    world.wallet(1, 0)


@breaks("I4 wallets")
def a_wallet_below_zero(world: World) -> None:
    without("ALTER TABLE billing_wallet DROP CONSTRAINT wallet_available")
    Wallet.objects.update(available=-1)


@breaks("I4 holds")
def tokens_held_for_nothing(world: World) -> None:
    world.wallet(-1, 1)


@breaks("I5 receipt")
def a_charge_by_a_receipt_that_never_came(world: World) -> None:
    Receipt.objects.all().delete()


@breaks("I5 receipt")
def a_charge_for_what_the_phone_never_got(world: World) -> None:
    world.phone = [world.arrival(world.attempt, state="failed")]


@breaks("I5 hand-over")
def a_charge_by_hand_over_to_a_vendor_with_receipts(world: World) -> None:
    message = world.add_message()
    world.transfer(message, "capture", proof="handed_over")
    world.phone.append(world.arrival(AttemptFactory.create(message=message), id=2))


@breaks("I5 code")
def a_charge_by_a_code_that_nobody_entered(world: World) -> None:
    Verification.objects.update(verified_at=None)
    world.transfer(world.add_message(), "capture", proof="code_entered")


@breaks("I5 code")
def a_charge_by_a_code_that_no_phone_got(world: World) -> None:
    message = world.add_message(world.verify(phone="+79990000002"))
    world.transfer(message, "capture", proof="code_entered")


@breaks("I5 code")
def a_charge_by_a_code_that_will_never_arrive(world: World) -> None:
    message = world.add_message(world.verify(phone="+79990000002"))
    lost = {"state": "sent", "is_told": False, "faults": ["undelivered"]}
    world.phone.append(world.arrival(AttemptFactory.create(message=message), id=2, **lost))
    world.transfer(message, "capture", proof="code_entered")


@breaks("I5 code")
def a_charge_by_a_proof_that_does_not_exist(world: World) -> None:
    world.transfer(world.add_message(), "capture", proof="click")


@breaks("I5 delivered")
def delivered_said_of_what_no_phone_got(world: World) -> None:
    world.phone = []


@breaks("I5 delivered")
def failed_said_of_what_was_reported_delivered(world: World) -> None:
    Message.objects.update(state="failed")


@breaks("I6 one hand-over")
def an_attempt_taken_twice(world: World) -> None:
    world.phone.append(world.arrival(world.attempt, id=2))


@breaks("I6 one hand-over")
def a_message_that_reached_its_phone_by_two_attempts(world: World) -> None:
    second = AttemptFactory.create(message=world.message, n=2, state="failed")
    world.phone.append(world.arrival(second, id=2))


@breaks("I6 known")
def a_message_on_a_phone_that_nobody_sent(world: World) -> None:
    world.phone.append(world.arrival(world.attempt, id=2, ref=uuid7()))


@breaks("I6 known")
def a_receipt_that_found_no_attempt(world: World) -> None:
    ReceiptFactory.create(attempt=None, provider="twilio", provider_id="SM1", ref=None)


@breaks("I7 one charge")
def a_message_charged_twice(world: World) -> None:
    without("DROP INDEX transfer_one_capture")
    world.hold(world.message, n=2)
    world.transfer(world.message, "capture", proof="receipt", n=2)


@breaks("I7 one charge")
def a_charge_of_more_than_the_price(world: World) -> None:
    Message.objects.update(price=0)


@breaks("I7 per code")
def a_code_that_pays_for_a_second_delivery(world: World) -> None:
    world.transfer(world.add_message(), "capture", proof="code_entered")


@breaks("I7 per code")
def more_charges_than_messages_on_the_phone(world: World) -> None:
    world.transfer(world.add_message(), "capture", proof="receipt")


@breaks("I8 in time")
def a_message_open_past_its_deadline(world: World) -> None:
    world.add_message(
        state="sent", finished_at=None, deadline=timezone.now() - timedelta(seconds=6)
    )


@breaks("I8 in time")
def a_message_that_ended_too_late(world: World) -> None:
    Message.objects.update(deadline=timezone.now() - timedelta(seconds=6))


@breaks("I8 in time")
def a_call_past_its_lease(world: World) -> None:
    lease = timezone.now() - timedelta(seconds=6)
    Attempt.objects.update(state="submitting", lease_until=lease)


@breaks("fallback asked for")
def a_message_that_went_on_without_a_chain(world: World) -> None:
    Message.objects.update(hold=2)


@breaks("fallback asked for")
def a_channel_that_is_not_in_the_chain(world: World) -> None:
    Company.objects.update(falls_back=True, fallback_chain=["whatsapp", "telegram"])
    AttemptFactory.create(message=world.message, n=2, hold=2, channel="sms", state="failed")


@breaks("fallback settled")
def a_message_that_owes_without_being_delivered(world: World) -> None:
    Message.objects.update(state="failed", is_owed=True)


@breaks("fallback settled")
def an_ended_message_that_is_impatient(world: World) -> None:
    Message.objects.update(fallback_at=timezone.now())


@breaks("I3 resolved once")
def a_hold_of_the_last_channel_that_stays_open(world: World) -> None:
    world.hold(world.message, n=2)
    Message.objects.update(hold=2)


@breaks("I6 one hand-over")
def a_second_message_by_the_same_channel(world: World) -> None:
    again = AttemptFactory.create(message=world.message, n=2, state="delivered")
    world.phone.append(world.arrival(again, id=2))


@breaks("codes once")
def a_code_consumed_twice(world: World) -> None:
    world.entries.append(world.entry("try-2", 200, verification_id=world.verification.id))


@breaks("codes once")
def a_success_that_is_not_in_the_database(world: World) -> None:
    Verification.objects.update(verified_at=None)


@breaks("codes once")
def a_wrong_code_that_was_taken(world: World) -> None:
    world.entries = [
        world.entry("try-1", 200, verification_id=world.verification.id, is_correct=False)
    ]


@breaks("correct codes")
def a_correct_code_called_wrong(world: World) -> None:
    world.entries.append(world.entry("try-2", 422, "code_invalid"))


@breaks("correct codes")
def two_correct_codes_at_once_of_which_none_was_taken(world: World) -> None:
    world.entries = [world.entry(name, 422, "code_used") for name in ("try-1", "try-2")]


@breaks("answers")
def a_send_that_was_answered_500(world: World) -> None:
    world.calls.append(world.call(ORDER, status=500, code="internal_error", message_id=None))


@breaks("answers")
def a_gateway_error_of_nobodys(world: World) -> None:
    world.calls.append(world.call(ORDER, status=502, code="", message_id=None))


@breaks("answers")
def an_order_that_was_refused_for_its_key(world: World) -> None:
    wrong = world.call(ORDER, status=422, code="idempotency_mismatch", message_id=None)
    world.calls.append(wrong)


@breaks("answers")
def an_entry_that_was_answered_500(world: World) -> None:
    world.entries.append(world.entry("try-2", 500, "internal_error"))


def found() -> dict[str, list[str]]:
    return {check.name: subjects for check in CHECKS if (subjects := violations(check))}


def test_consistent_scenario_violates_no_invariant() -> None:
    World().write_tables()

    assert found() == {}
    assert checks.uncharged() == {}


def test_code_read_before_its_receipts_were_accepted_may_be_charged() -> None:
    world = World()
    message = world.add_message(world.verify(phone="+79990000002"))
    under_way = {"state": "sent", "is_told": False}
    world.phone.append(world.arrival(AttemptFactory.create(message=message), id=2, **under_way))
    world.transfer(message, "capture", proof="code_entered")
    world.write_tables()

    assert "I5 code" not in found()


@pytest.mark.parametrize(("check", "spoil"), BREAKS, ids=[make.__name__ for _check, make in BREAKS])
def test_each_violated_invariant_is_reported(check: str, spoil: Break) -> None:
    world = World()
    spoil(world)
    world.write_tables()

    assert check in found()


def test_every_invariant_has_a_violating_scenario() -> None:
    assert {check for check, _make in BREAKS} == {check.name for check in CHECKS}
