"""A code that is entered ends the fallback of its messages."""

from collections.abc import Iterator

import pytest

from billing.wallet import ledger
from channels import reconciliation
from channels.deliver import sweeps
from channels.lifecycle.state_machine import EventKind
from channels.models import Attempt, Message
from otp.check import settlement
from tests.api.clients import Api
from tests.api.races import at_once
from tests.channels.fallback_stages import (
    MOVED,
    enable_fallback,
    event_applier,
    fallback_events,
    fallen_back,
    handed_over,
    past_patience,
    transfers,
)
from tests.channels.message_stages import accepted, apply_event, claim, send
from tests.otp.check.test_settlement import resend, verify
from tests.otp.sent_codes import age_rows

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _chain(api: Api, transactional_db: None) -> Iterator[None]:
    enable_fallback(api.company, "whatsapp", "sms")
    yield
    assert list(reconciliation.breaches()) == []


def state(message: Message) -> tuple[str, str, bool]:
    message.refresh_from_db()
    return message.state, message.channel, message.is_owed


def test_code_entered_in_time_sends_no_sms(api: Api) -> None:
    attempt = accepted(api)
    verify(api)
    age_rows(seconds=31)

    sweeps.sweep()

    assert (state(attempt.message), claim()) == (("delivered", "whatsapp", False), [])
    assert transfers(attempt.message) == [("hold", 1, ""), ("capture", 1, "code_entered")]
    assert ledger.balance(api.company.pk) == (999, 0)


def test_correct_code_cancels_unsent_sms_free_of_charge(api: Api) -> None:
    first = fallen_back(api)
    verify(api)

    settlement.settle_verified()

    assert (state(first.message), claim()) == (("delivered", "whatsapp", False), [])
    assert transfers(first.message) == [*MOVED, ("release", 16, "late proof")]
    assert fallback_events(first.message) == [("patience", "sms"), ("code_entered", "sms")]
    assert ledger.balance(api.company.pk) == (1000, 0)


def test_code_proves_an_sms_that_the_vendor_has(api: Api) -> None:
    first, _second = handed_over(api)
    verify(api)

    settlement.settle_verified()

    assert state(first.message) == ("delivered", "sms", False)
    assert transfers(first.message) == [*MOVED, ("capture", 16, "code_entered")]
    assert ledger.balance(api.company.pk) == (984, 0)


def test_correct_code_does_not_prove_a_message_delivered_already(api: Api) -> None:
    first, _second = handed_over(api)
    apply_event(first, EventKind.DELIVERED)
    verify(api)

    settlement.settle_verified()

    assert state(first.message) == ("delivered", "sms", True)
    assert ledger.balance(api.company.pk) == (984, 16)


def test_code_ends_the_chains_of_its_other_messages(api: Api) -> None:
    first = past_patience(api).message
    age_rows(seconds=31)
    second = message_by_the_chain(api)
    Message.objects.filter(pk=first.pk).update(fallback_at=None, chain=[])
    verify(api)

    settlement.settle_verified()

    states = sorted((state(first), state(second)))
    assert states == [("delivered", "whatsapp", False), ("sent", "whatsapp", False)]
    assert [message.chain for message in Message.objects.all() if message.state == "sent"] == [[]]
    age_rows(seconds=31)
    assert sweeps.fall_back() == 0
    assert ledger.balance(api.company.pk) == (998, 1)


def message_by_the_chain(api: Api) -> Message:
    """Sends the same code again; the vendor has the message."""
    message = send(api)
    claim()
    apply_event(
        Attempt.objects.get(message=message), EventKind.ACCEPTED, provider_id=str(message.pk)
    )
    return message


def test_code_calls_off_the_next_step_of_its_other_messages(api: Api) -> None:
    pending = fallen_back(api).message
    Message.objects.filter(pk=pending.pk).update(due_at=None)  # kept from the claim below
    by_sms = resend(api, "sms")
    Message.objects.filter(pk=pending.pk).update(due_at=pending.created_at)
    verify(api)

    settlement.settle_verified()

    assert (state(by_sms), state(pending)) == (
        ("delivered", "sms", False),
        ("expired", "sms", False),
    )
    assert transfers(pending) == [*MOVED, ("release", 16, "code_entered")]
    assert claim() == []
    assert ledger.balance(api.company.pk) == (984, 0)


def test_code_cancels_another_message_that_no_vendor_has(api: Api) -> None:
    first = accepted(api)
    by_sms = send(api, channel="sms")
    verify(api)

    settlement.settle_verified()

    assert (state(by_sms), claim()) == (("expired", "sms", False), [])
    assert transfers(by_sms) == [("hold", 16, ""), ("release", 16, "code_entered")]
    assert fallback_events(by_sms) == [("code_entered", "sms")]
    assert transfers(first.message) == [("hold", 1, ""), ("capture", 1, "code_entered")]
    assert ledger.balance(api.company.pk) == (999, 0)


def test_message_throttled_after_the_code_is_not_tried_again(api: Api) -> None:
    accepted(api)
    by_sms = send(api, channel="sms")
    claim()
    verify(api)

    settlement.settle_verified()
    apply_event(by_sms.attempts.get(), EventKind.RETRY, code="429")

    assert (state(by_sms), claim()) == (("failed", "sms", False), [])
    assert ledger.balance(api.company.pk) == (999, 0)


@pytest.mark.parametrize("round_number", range(3))
def test_code_and_sweep_at_once_agree(api: Api, round_number: int) -> None:
    attempt = past_patience(api)
    verify(api)

    at_once(
        [sweeps.fall_back, settlement.settle_verified, event_applier(attempt, EventKind.READ)] * 2
    )

    assert state(attempt.message) == ("delivered", "whatsapp", False)
    is_charged = transfers(attempt.message)[-1][0] == "capture"
    assert ledger.balance(api.company.pk) == (999 if is_charged else 1000, 0)
