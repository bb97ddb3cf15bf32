"""Receipts of deliveries in one statement: what it writes, and what it leaves to the others."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from billing.models import Transfer, Wallet
from billing.wallet import ledger
from channels.lifecycle.state_machine import EventKind
from channels.models import Attempt, Message, OpenMessage, Part, Receipt, StaleDay
from channels.outcomes import due_receipts, unchanged_messages
from otp.check import settlement
from tests.api.clients import Api, ClientOf
from tests.api.races import at_once
from tests.channels.fallback_stages import enable_fallback, handed_over
from tests.channels.message_stages import PHONE, accepted, apply_event, store_due_receipt, submitted
from tests.factories import CompanyFactory, EndpointFactory
from tests.otp.sent_codes import code_of

pytestmark = pytest.mark.django_db(transaction=True)
OTHER_PHONE = "+79161234568"


def rows(of: Attempt) -> list[dict[str, Any]]:
    """Returns the rows of a message without values in which any two differ; times in 5 s steps."""
    result: list[dict[str, Any]] = []
    for model, key, identity in (
        (Message, "id", ("id", "subject_id", "request_id", "params", "phone")),
        (Attempt, "message_id", ("id", "message_id", "provider_id")),
        (OpenMessage, "message_id", ("message_id", "attempt_id")),
        (Transfer, "message_id", ("id", "message_id", "balance_after")),
        (Receipt, "attempt_id", ("id", "digest", "attempt_id", "provider_id")),
    ):
        own = {key: of.id if key == "attempt_id" else of.message_id}
        result += [
            {name: value for name, value in row.items() if name not in identity}
            for row in model._default_manager.filter(**own).order_by("pk").values()
        ]
    now = timezone.now()
    for row in result:
        for name, value in row.items():
            if hasattr(value, "tzinfo"):
                row[name] = round((value - now).total_seconds() / 5)
    return result


def everything() -> list[Any]:
    models = (Message, Attempt, OpenMessage, Transfer, Receipt, Wallet)
    return [list(model._default_manager.order_by("pk").values()) for model in models]


def test_delivery_uses_two_statements(
    api: Api, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    attempt = accepted(api)
    receipt = store_due_receipt(attempt)

    with django_assert_num_queries(2):
        assert due_receipts.apply_stored() is False

    attempt.refresh_from_db()
    receipt.refresh_from_db()
    assert (attempt.state, attempt.message.state) == ("delivered", "delivered")
    assert (receipt.attempt_id, receipt.due_at) == (attempt.id, None)
    assert ledger.balance(api.company.pk) == (999, 0)


@pytest.mark.parametrize("chain", [[], ["whatsapp", "sms"]])
@pytest.mark.parametrize("at", [None, timedelta(hours=-1), timedelta(0), timedelta(hours=1)])
@pytest.mark.parametrize("is_polled", [True, False])
def test_delivery_statement_matches_state_machine(
    api: Api, chain: list[str], at: timedelta | None, is_polled: bool
) -> None:
    if chain:
        enable_fallback(api.company, *chain)
    both = [accepted(api, phone) for phone in (PHONE, OTHER_PHONE)]
    if is_polled:
        Attempt.objects.update(poll_at=timezone.now(), polls=2)
    said = timezone.now() + at if at is not None else None

    store_due_receipt(both[0], at=said)
    assert unchanged_messages.deliver_unchanged(100) == (1, False)
    store_due_receipt(both[1], at=said)
    assert due_receipts._apply_batch(100) == 1

    assert rows(both[0]) == rows(both[1])
    price = Message.objects.get(pk=both[0].message_id).price
    assert ledger.balance(api.company.pk) == (1000 - 2 * price, 0)


@pytest.mark.parametrize("is_delivered", [True, False])
def test_repeated_sent_receipt_changes_nothing(api: Api, is_delivered: bool) -> None:
    both = [accepted(api, phone) for phone in (PHONE, OTHER_PHONE)]
    for attempt in both:
        if is_delivered:
            apply_event(attempt, EventKind.DELIVERED)
    before = everything()

    first = store_due_receipt(both[0], "sent")
    assert unchanged_messages.deliver_unchanged(100) == (1, False)
    second = store_due_receipt(both[1], "sent")
    assert due_receipts._apply_batch(100) == 1

    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.attempt_id, first.due_at) == (both[0].id, None)
    assert (second.attempt_id, second.due_at) == (both[1].id, None)
    assert rows(both[0]) == rows(both[1])
    Receipt.objects.all().delete()
    assert everything() == before


def test_sent_and_delivered_are_applied_together(api: Api) -> None:
    attempt = accepted(api)
    store_due_receipt(attempt, "sent")
    store_due_receipt(attempt)

    assert unchanged_messages.deliver_unchanged(100) == (2, False)

    assert Message.objects.get().state == "delivered"
    assert ledger.balance(api.company.pk) == (999, 0)


def test_test_messages_cost_nothing(test_api: Api) -> None:
    store_due_receipt(accepted(test_api))

    assert unchanged_messages.deliver_unchanged(100) == (1, False)

    assert not Transfer.objects.filter(kind="capture").exists()


def of_first_try_after_a_fallback(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "sms")
    first, _second = handed_over(api)
    store_due_receipt(first)


def of_an_earlier_channel(api: Api) -> None:
    """A receipt of an earlier channel, whose attempt may still be open."""
    enable_fallback(api.company, "whatsapp", "sms")
    first, second = handed_over(api)
    Attempt.objects.filter(pk=second.pk).update(state="failed")
    Attempt.objects.filter(pk=first.pk).update(state="sent")
    store_due_receipt(first)


def before_its_acceptance(api: Api, state: str = "delivered") -> None:
    attempt = submitted(api)
    Attempt.objects.update(provider_id="known")
    attempt.refresh_from_db()
    store_due_receipt(attempt, state)


def of_an_unclear_call(api: Api, state: str = "delivered") -> None:
    attempt = submitted(api)
    apply_event(attempt, EventKind.AMBIGUOUS, provider_id="known", code="timeout")
    attempt.refresh_from_db()
    store_due_receipt(attempt, state)


def sent_of_an_earlier_channel(api: Api) -> None:
    """A *sent* of an earlier channel while the message waits for the next one."""
    enable_fallback(api.company, "whatsapp", "sms")
    attempt = accepted(api)
    Message.objects.update(state="queued")
    store_due_receipt(attempt, "sent")


def late_receipt(kind: EventKind) -> Callable[[Api], object]:
    def ended(api: Api) -> None:
        attempt = accepted(api)
        apply_event(attempt, kind, code="131026")
        store_due_receipt(attempt)

    return ended


def of_a_failed_try(api: Api) -> None:
    """A receipt of a failed try whose message is still open, for another account for example."""
    attempt = accepted(api)
    Attempt.objects.update(state="failed")
    store_due_receipt(attempt)


def of_one_part(api: Api) -> None:
    attempt = accepted(api)
    for number, provider_id in enumerate(("another", attempt.provider_id or ""), start=1):
        Part.objects.create(
            attempt=attempt,
            number=number,
            total=2,
            provider=attempt.provider,
            provider_id=provider_id,
        )
    store_due_receipt(attempt)


def spelled_differently(api: Api) -> None:
    attempt = accepted(api)
    store_due_receipt(attempt, alternatives=[attempt.provider_id, "0x17"], provider_id="23")


def for_a_subscriber(api: Api) -> None:
    EndpointFactory.create(company=api.company)
    store_due_receipt(accepted(api))


def beside_a_failure(api: Api) -> None:
    attempt = accepted(api)
    store_due_receipt(attempt, "failed")
    store_due_receipt(attempt)


def receipt_of_state(state: str = "delivered", **fields: Any) -> Callable[[Api], object]:
    return lambda api: store_due_receipt(accepted(api), state, **fields)


LEFT: dict[str, Callable[[Api], object]] = {
    "of the first try after a fallback": of_first_try_after_a_fallback,
    "of an earlier channel": of_an_earlier_channel,
    "before its acceptance": before_its_acceptance,
    "sent, before its acceptance": partial(before_its_acceptance, state="sent"),
    "of an unclear call": of_an_unclear_call,
    "sent, of an unclear call": partial(of_an_unclear_call, state="sent"),
    "sent, of an earlier channel": sent_of_an_earlier_channel,
    "of a failed message": late_receipt(EventKind.REFUSED),
    "of a delivered message": late_receipt(EventKind.DELIVERED),
    "of a failed try": of_a_failed_try,
    **{
        f"says {state}": receipt_of_state(state)
        for state in ("read", "failed", "unreachable", "expired")
    },
    "with an error": receipt_of_state(error_code="470"),
    "of one part": of_one_part,
    "spelled differently": spelled_differently,
    "with a phone": receipt_of_state(phone=PHONE),
    "names another try": lambda api: store_due_receipt(
        accepted(api), ref=accepted(api, OTHER_PHONE).id
    ),
    "names a try of nobody": receipt_of_state(ref=uuid4()),
    "of another vendor": receipt_of_state(provider="telegram_gateway"),
    "for a subscriber": for_a_subscriber,
    "beside a failure": beside_a_failure,
}


@pytest.mark.parametrize("left", LEFT)
def test_receipt_of_a_special_case_is_left_to_the_state_machine(api: Api, left: str) -> None:
    LEFT[left](api)
    before = everything()

    assert unchanged_messages.deliver_unchanged(100) == (0, True)
    assert everything() == before


def test_skipped_receipt_does_not_block_others(api: Api) -> None:
    first, second, third = (accepted(api, f"+7916123456{n}") for n in range(3))
    store_due_receipt(first)
    store_due_receipt(second, "failed", error_code="131026")
    store_due_receipt(third, ref=third.id)

    assert unchanged_messages.deliver_unchanged(100) == (2, True)

    states = [
        Message.objects.get(pk=attempt.message_id).state for attempt in (first, second, third)
    ]
    assert states == ["delivered", "sent", "delivered"]
    assert due_receipts.apply_stored() is False
    assert Message.objects.get(pk=second.message_id).state == "failed"


@pytest.mark.parametrize(("model", "is_met"), [(Message, True), (Receipt, False)])
def test_delivery_statement_skips_locked_rows(
    api: Api, model: type[Message | Receipt], is_met: bool
) -> None:
    store_due_receipt(accepted(api))
    before = everything()
    result: list[tuple[int, bool]] = []

    with transaction.atomic():
        list(model._default_manager.select_for_update())
        result += at_once([partial(unchanged_messages.deliver_unchanged, 100)])

    assert result == [(0, is_met)]
    assert everything() == before


def test_delivery_after_midnight_marks_the_day_of_the_message(api: Api) -> None:
    attempt = accepted(api)
    Message.objects.update(created_at=F("created_at") - timedelta(days=1))
    store_due_receipt(attempt)

    assert unchanged_messages.deliver_unchanged(100) == (1, False)

    assert StaleDay.objects.count() == 1


def test_hold_that_is_settled_already_is_not_charged_again(api: Api) -> None:
    attempt = accepted(api)
    message = Message.objects.get(pk=attempt.message_id)
    kind = ledger.TransferKind.CAPTURE
    proof = ledger.DeliveryProof.RECEIPT
    captured = ledger.Settlement(api.company.pk, message.pk, 1, message.price, kind, proof)
    with connection.cursor() as cursor:
        ledger.settle(cursor, [captured])
    store_due_receipt(attempt)

    assert unchanged_messages.deliver_unchanged(100) == (1, False)

    assert ledger.balance(api.company.pk) == (999, 0)


def test_companies_are_charged_their_own(api: Api, client_of: ClientOf) -> None:
    other = CompanyFactory.create()
    ledger.grant(company=other, amount=1000, reason="test")
    for number in range(3):
        store_due_receipt(accepted(api, f"+7916123456{number}"))
    store_due_receipt(accepted(client_of(other), "+79161234599"))

    assert unchanged_messages.deliver_unchanged(100) == (4, False)

    assert ledger.balance(api.company.pk) == (997, 0)
    assert ledger.balance(other.pk) == (999, 0)


def test_races_of_workers_and_of_the_recipient_charge_once(api: Api) -> None:
    attempts = [accepted(api, f"+791612345{number:02}") for number in range(8)]
    for attempt in attempts:
        store_due_receipt(attempt)
        store_due_receipt(attempt, "read")
    for attempt in attempts[::2]:
        phone = attempt.message.phone
        assert api.post("/otp/verify", {"phone": phone, "code": code_of(phone)}).status == 200

    at_once([due_receipts.apply_stored] * 4 + [settlement.settle_verified] * 2)
    while due_receipts.apply_stored():
        pass

    assert set(Message.objects.values_list("state", flat=True)) == {"delivered"}
    assert Transfer.objects.filter(kind="capture").count() == 8
    assert ledger.balance(api.company.pk) == (992, 0)
