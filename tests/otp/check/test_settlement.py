"""A correct code proves one delivery: the cheapest that was handed over, once."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import JobFailure
from billing.models import Transfer, Wallet
from billing.wallet import ledger
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Attempt, Message
from channels.outcomes import transitions
from links.models import Link
from otp.check import settlement
from otp.models import Verification
from tests.api.clients import Api, ClientOf
from tests.api.races import at_once
from tests.channels.message_stages import PHONE, accepted, apply_event, claim, message_of, submitted
from tests.factories import CompanyFactory, EndpointFactory
from tests.otp.sent_codes import age_rows, code_of, forget_limits, wrong_code
from webhooks.models import Event as WebhookEvent

OTHER_PHONES = ["+79161234568", "+79161234569", "+79161234570"]


def verify(api: Api, phone: str = PHONE) -> None:
    assert api.post("/otp/verify", {"phone": phone, "code": code_of(phone)}).status == 200


def delivered(api: Api, phone: str = PHONE, **fields: object) -> Attempt:
    """Sends a code that its receipt delivers; returns the attempt."""
    attempt = accepted(api, phone, **fields)
    apply_event(attempt, EventKind.DELIVERED)
    return attempt


def everything() -> list[Any]:
    models = (Message, Attempt, Transfer, Wallet)
    return [list(model._default_manager.order_by("pk").values()) for model in models]


def resend(api: Api, channel: str) -> Message:
    """Sends the same code again, handed over by another channel."""
    age_rows(seconds=61)
    message = message_of(api.post("/otp/send", {"phone": PHONE, "channel": channel}))
    claim()
    attempt = Attempt.objects.get(message=message)
    apply_event(attempt, EventKind.ACCEPTED, provider_id=str(attempt.id))
    return message


def charged(api: Api) -> list[tuple[object, int, str]]:
    rows = Transfer.objects.filter(company=api.company, kind="capture")
    return [(row.message_id, row.amount, row.proof) for row in rows]


@pytest.mark.parametrize("make", [accepted, submitted])
def test_correct_code_charges_the_handed_over_message(api: Api, make: type) -> None:
    attempt = make(api)
    verify(api)
    assert charged(api) == []

    assert settlement.settle_verified() == 1
    assert settlement.settle_verified() == 0

    assert charged(api) == [(attempt.message_id, 1, "code_entered")]
    assert Message.objects.get().state == "delivered"
    assert ledger.balance(api.company.pk) == (999, 0)
    assert Verification.objects.get().settled_at is not None


def test_ambiguous_delivery_is_proved_too(api: Api) -> None:
    attempt = submitted(api)
    apply_event(attempt, EventKind.AMBIGUOUS)
    verify(api)

    settlement.settle_verified()

    assert charged(api) == [(attempt.message_id, 1, "code_entered")]


@pytest.mark.parametrize("order", [["sms", "whatsapp"], ["whatsapp", "sms"]])
def test_cheapest_of_several_is_charged(api: Api, order: list[str]) -> None:
    first = accepted(api, channel=order[0]).message
    second = resend(api, order[1])
    cheap, dear = (first, second) if order[0] == "whatsapp" else (second, first)
    verify(api)

    settlement.settle_verified()

    assert charged(api) == [(cheap.id, 1, "code_entered")]
    assert ledger.balance(api.company.pk) == (983, 16)
    dear.refresh_from_db()
    assert dear.state == "sent"


def test_accepted_message_is_proved_before_ambiguous_one(api: Api) -> None:
    unknown = submitted(api)
    apply_event(unknown, EventKind.AMBIGUOUS)
    accepted_one = resend(api, "sms")
    verify(api)

    settlement.settle_verified()

    assert charged(api) == [(accepted_one.id, 16, "code_entered")]


def test_submitting_message_is_proved_before_ambiguous_one(
    api: Api,
) -> None:
    """Its receipt may come any moment and is charged, too: the code then pays for the same."""
    unknown = submitted(api)
    apply_event(unknown, EventKind.AMBIGUOUS)
    forget_limits()
    handed_over = submitted(api)
    verify(api)
    settlement.settle_verified()

    apply_event(handed_over, EventKind.DELIVERED)

    assert charged(api) == [(handed_over.message_id, 1, "code_entered")]
    assert ledger.balance(api.company.pk) == (998, 1)


def test_other_message_is_charged_on_its_own_receipt_only(api: Api) -> None:
    accepted(api, channel="sms")
    resend(api, "whatsapp")
    verify(api)
    settlement.settle_verified()

    sms = Attempt.objects.get(channel="sms")
    apply_event(sms, EventKind.DELIVERED)

    assert sorted(proof for _, _, proof in charged(api)) == ["code_entered", "receipt"]
    assert ledger.balance(api.company.pk) == (983, 0)


def test_code_proves_nothing_where_a_receipt_did(api: Api) -> None:
    attempt = accepted(api)
    resend(api, "sms")
    apply_event(attempt, EventKind.DELIVERED)
    verify(api)

    assert settlement.settle_verified() == 1

    assert charged(api) == [(attempt.message_id, 1, "receipt")]
    assert ledger.balance(api.company.pk) == (983, 16)


def test_code_after_the_hold_went_back_is_free(api: Api) -> None:
    attempt = accepted(api)
    apply_event(attempt, EventKind.EXPIRED)
    verify(api)

    assert settlement.settle_verified() == 1

    assert charged(api) == []
    assert ledger.balance(api.company.pk) == (1000, 0)


def test_message_that_was_not_handed_over_is_not_proved(api: Api) -> None:
    api.post("/otp/send", {"phone": PHONE})
    verify(api)

    assert settlement.settle_verified() == 1

    assert charged(api) == []
    assert ledger.balance(api.company.pk) == (1000, 0)


def test_code_of_a_finished_message_is_settled_in_one_statement(
    api: Api, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    delivered(api)
    verify(api)

    with django_assert_num_queries(2):  # the first one looks whether there is any
        assert settlement.settle_verified() == 1

    assert Verification.objects.get().settled_at is not None


def test_code_of_a_finished_message_changes_no_money(api: Api) -> None:
    delivered(api)
    verify(api)
    messages = everything()

    assert settlement.prove_delivery() == 1

    assert everything() == messages
    assert Verification.objects.get().settled_at is not None


def test_failures_that_wait_leave_room_for_others(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settlement, "BATCH_SIZE", 1)
    for phone in OTHER_PHONES[:2]:
        accepted(api, phone)
        verify(api, phone)
    first = Verification.objects.get(phone=OTHER_PHONES[0])
    now = timezone.now()
    JobFailure.objects.create(
        job="settlement", subject=str(first.pk), failed_at=now, due_at=now + timedelta(hours=1)
    )

    assert settlement.settle_verified() == 1

    assert Verification.objects.get(settled_at__isnull=False).phone == OTHER_PHONES[1]
    assert JobFailure.objects.exists()


def test_code_with_follow_up_work_is_settled_separately(api: Api, client_of: ClientOf) -> None:
    subscribed = client_of(CompanyFactory.create())
    ledger.grant(company=subscribed.company, amount=100, reason="test")
    EndpointFactory.create(company=subscribed.company)
    delivered(api)
    sent = accepted(api, OTHER_PHONES[0])
    delivered(api, OTHER_PHONES[1], link="https://example.com/", link_until="code")
    delivered(subscribed, OTHER_PHONES[2])
    for phone in (PHONE, *OTHER_PHONES[:2]):
        verify(api, phone)
    verify(subscribed, OTHER_PHONES[2])

    settled = Verification.objects.get(phone=PHONE)
    assert settlement.settle_finished() == ([settled.pk], 4)
    assert Verification.objects.get(settled_at__isnull=False) == settled
    assert settlement.settle_verified() == 3

    assert charged(api)[-1] == (sent.message_id, 1, "code_entered")
    assert Link.objects.get().disabled_at is not None
    assert WebhookEvent.objects.filter(kind="otp.verified").count() == 1
    assert not Verification.objects.filter(settled_at__isnull=True).exists()


@pytest.mark.django_db(transaction=True)
def test_code_that_another_worker_settles_is_not_waited_for(api: Api) -> None:
    delivered(api)
    verify(api)

    with transaction.atomic():
        Verification.objects.select_for_update().get()
        assert at_once([settlement.settle_finished]) == [([], 0)]


def test_wrong_code_proves_nothing(api: Api) -> None:
    accepted(api)
    api.post("/otp/verify", {"phone": PHONE, "code": wrong_code(PHONE)})

    assert settlement.settle_verified() == 0

    assert charged(api) == []


def test_receipt_after_the_code_charges_nothing_more(api: Api) -> None:
    attempt = accepted(api)
    verify(api)
    settlement.settle_verified()

    transitions.commit_events(
        [
            Event(attempt.message_id, attempt.id, EventKind.READ),
            Event(attempt.message_id, attempt.id, EventKind.EXPIRED),
        ]
    )

    assert len(charged(api)) == 1
    assert ledger.balance(api.company.pk) == (999, 0)


def test_test_codes_charge_nothing(test_api: Api) -> None:
    accepted(test_api)
    code = code_of(PHONE, mode="test")
    assert test_api.post("/otp/verify", {"phone": PHONE, "code": code}).status == 200

    assert settlement.settle_verified() == 1

    assert Message.objects.get().state == "delivered"
    assert ledger.balance(test_api.company.pk) == (1000, 0)


@pytest.mark.django_db(transaction=True)
def test_many_workers_charge_once(api: Api) -> None:
    attempt = accepted(api)
    verify(api)

    at_once(
        [settlement.settle_verified] * 6
        + [
            lambda: len(
                transitions.commit_events(
                    [Event(attempt.message_id, attempt.id, EventKind.DELIVERED)]
                )
            )
        ]
        * 3
    )

    assert len(charged(api)) == 1
    assert ledger.balance(api.company.pk) == (999, 0)
    call_command("reconcile", verbosity=0)
