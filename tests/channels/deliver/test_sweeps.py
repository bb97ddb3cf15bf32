"""The sweeps: expired leases, patience and deadlines, and what they must leave alone."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core.management import call_command
from django.utils import timezone
from pytest_django import Settings

from accounts.models import JobFailure
from billing.models import Transfer
from billing.wallet import ledger
from channels.deliver import claims as claiming
from channels.deliver import sweeps
from channels.lifecycle.state_machine import EventKind
from channels.models import Attempt, Message
from channels.outcomes import transitions
from tests.api.clients import Api
from tests.api.races import at_once
from tests.channels.accounts import set_account
from tests.channels.message_stages import (
    accepted,
    apply_event,
    claim,
    claimed,
    hand_over,
    send,
    states,
    submitted,
)
from tests.factories import AttemptFactory, ReceiptFactory
from tests.otp.sent_codes import age_rows, code_of

HOUR = timedelta(hours=1)


def time_ago(**ago: float) -> Any:
    return timezone.now() - timedelta(**ago)


def test_expired_lease_makes_the_attempt_ambiguous(api: Api) -> None:
    attempt = submitted(api)
    assert sweeps.expire_leases() == 0
    assert states(attempt) == ("submitting", "queued")

    Attempt.objects.update(lease_until=time_ago(minutes=1))

    assert sweeps.expire_leases() == 1
    assert sweeps.expire_leases() == 0
    assert states(attempt) == ("ambiguous", "queued")
    assert Attempt.objects.get().error_class == "ambiguous"
    assert ledger.balance(api.company.pk) == (999, 1)


def test_ambiguous_attempt_is_never_resent(api: Api) -> None:
    attempt = submitted(api)
    Attempt.objects.update(lease_until=time_ago(minutes=1))

    for seconds in (0, 100, 100, 60):
        age_rows(seconds=seconds)
        sweeps.sweep()
        assert claim() == []

    assert Attempt.objects.count() == 1
    assert states(attempt) == ("ambiguous", "queued")


def test_late_vendor_response_still_counts(api: Api) -> None:
    attempt = submitted(api)
    Attempt.objects.update(lease_until=time_ago(minutes=1))
    sweeps.sweep()

    apply_event(attempt, EventKind.ACCEPTED, provider_id="wamid.1")

    assert states(attempt) == ("sent", "sent")


@pytest.mark.parametrize("is_ambiguous", [True, False])
def test_unproved_message_expires_at_its_deadline(api: Api, is_ambiguous: bool) -> None:
    attempt = submitted(api) if is_ambiguous else accepted(api)
    Attempt.objects.filter(state="submitting").update(lease_until=time_ago(minutes=1))
    age_rows(seconds=590)
    sweeps.sweep()
    assert ledger.balance(api.company.pk) == (999, 1)

    age_rows(seconds=11)
    sweeps.sweep()

    assert states(attempt) == ("expired", "expired")
    assert ledger.balance(api.company.pk) == (1000, 0)
    assert Transfer.objects.get(kind="release").reason == "expired"


def test_link_deadline_is_one_day(api: Api) -> None:
    api.post("/links/send", {"phone": "+79161234567", "url": "https://example.com/"})
    claim()
    attempt = Attempt.objects.get()
    apply_event(attempt, EventKind.ACCEPTED, provider_id="wamid.1")

    age_rows(hours=23, minutes=59)
    sweeps.sweep()
    assert states(attempt) == ("sent", "sent")
    age_rows(minutes=2)
    sweeps.sweep()

    assert states(attempt) == ("expired", "expired")


def test_proof_after_the_deadline_is_not_charged(api: Api) -> None:
    attempt = accepted(api)
    age_rows(seconds=601)
    sweeps.sweep()

    apply_event(attempt, EventKind.DELIVERED)

    assert states(attempt) == ("delivered", "delivered")
    assert ledger.balance(api.company.pk) == (1000, 0)


@pytest.mark.parametrize(("seconds", "is_attempted"), [(265, True), (275, False)])
def test_code_is_not_attempted_in_its_last_half_minute(
    api: Api, seconds: int, is_attempted: bool
) -> None:
    send(api)
    age_rows(seconds=seconds)

    sweeps.sweep()
    claimed = claim()

    assert len(claimed) == is_attempted
    assert Attempt.objects.count() == is_attempted
    assert Message.objects.get().state == ("queued" if is_attempted else "expired")
    assert ledger.balance(api.company.pk) == ((999, 1) if is_attempted else (1000, 0))


def test_claim_skips_messages_that_are_too_late(api: Api) -> None:
    send(api)
    age_rows(seconds=275)

    assert claim() == []

    assert Message.objects.get().tries == 0


def test_provider_gets_the_remaining_lifetime_of_a_code(api: Api) -> None:
    send(api)
    age_rows(seconds=100)

    (claimed,) = claim()

    assert 198 <= claimed.ttl <= 200


def test_message_without_a_route_waits_and_expires(api: Api, settings: Settings) -> None:
    send(api, channel="sms")
    set_account(settings, "twilio", {"auth_token": ""})

    assert claim() == []
    age_rows(seconds=275)
    sweeps.sweep()

    assert Message.objects.get().state == "expired"
    assert ledger.balance(api.company.pk) == (1000, 0)


def attempt_due_for_poll(test_api: Api, digits: str) -> Attempt:
    """A message to a scripted number that is due for polling."""
    transitions.commit_events([hand_over(claimed(test_api, f"+7916123{digits}"))])
    Attempt.objects.update(poll_at=time_ago(minutes=1))
    return Attempt.objects.get()


def test_accepted_message_is_polled(test_api: Api) -> None:
    attempt = attempt_due_for_poll(test_api, "0006")
    assert states(attempt) == ("sent", "sent")

    assert sweeps.poll() == 1
    assert states(attempt) == ("sent", "sent")
    assert sweeps.poll() == 0  # not due again for a while
    Attempt.objects.update(poll_at=time_ago(minutes=1))
    with time_machine.travel(timezone.now() + timedelta(seconds=31), tick=False):
        assert sweeps.poll() == 1

    assert states(attempt) == ("delivered", "delivered")
    assert Attempt.objects.get().poll_at is None


def test_attempt_of_a_removed_account_is_not_polled(api: Api, settings: Settings) -> None:
    accepted(api, channel="sms")
    Attempt.objects.update(poll_at=time_ago(minutes=1))
    set_account(settings, "twilio", {"auth_token": ""})

    assert sweeps.poll() == 0


def test_sweep_settles_proofs_before_it_expires_messages(api: Api) -> None:
    by_receipt = accepted(api)
    by_code = accepted(api, "+79161234568")
    code = code_of("+79161234568")
    assert api.post("/otp/verify", {"phone": "+79161234568", "code": code}).status == 200
    ReceiptFactory.create(
        attempt=by_receipt, due_at=time_ago(minutes=1), received_at=time_ago(minutes=1)
    )
    age_rows(seconds=601)

    sweeps.sweep()

    assert states(by_receipt) == states(by_code) == ("delivered", "delivered")
    assert ledger.balance(api.company.pk) == (998, 0)


def test_removed_account_stops_no_sweep(api: Api) -> None:
    attempt = accepted(api)
    AttemptFactory.create(provider="unheard_of", provider_id="x", poll_at=time_ago(minutes=1))
    ReceiptFactory.create(provider="unheard_of", provider_id="x", due_at=time_ago(minutes=1))
    age_rows(seconds=601)

    sweeps.sweep()

    assert states(attempt) == ("expired", "expired")


@pytest.mark.django_db(transaction=True)
def test_concurrent_sweeps_settle_once(api: Api) -> None:
    gone = [accepted(api, f"+7916123456{n}").message_id for n in range(3)]
    stuck = submitted(api, "+79161234577")
    verified = accepted(api, "+79161234578")
    code = code_of("+79161234578")
    api.post("/otp/verify", {"phone": "+79161234578", "code": code})
    Message.objects.filter(pk__in=gone).update(deadline=time_ago(minutes=1))
    Attempt.objects.filter(pk=stuck.pk).update(lease_until=time_ago(minutes=1))

    at_once([sweeps.sweep] * 6)

    assert set(Message.objects.filter(pk__in=gone).values_list("state", flat=True)) == {"expired"}
    assert states(stuck) == ("ambiguous", "queued")
    assert states(verified) == ("delivered", "delivered")
    assert ledger.balance(api.company.pk) == (998, 1)
    call_command("reconcile", verbosity=0)


@pytest.mark.django_db(transaction=True)
def test_many_workers_claim_each_message_once(api: Api) -> None:
    for number in range(20):
        send(api, f"+791612345{number:02d}")

    claims = at_once([lambda: claiming.claim(7)] * 6)

    taken = [claimed.attempt_id for several in claims for claimed in several]
    assert len(taken) == len(set(taken)) == Attempt.objects.count() == 20


@pytest.mark.django_db(transaction=True)
def test_codes_are_claimed_before_links(api: Api) -> None:
    api.post("/links/send", {"phone": "+79161234567", "url": "https://example.com/"})
    send(api)

    assert [claimed.kind for claimed in claiming.claim(1) + claiming.claim(1)] == ["code", "link"]


def record_failure(step: str, message: Message) -> None:
    now = timezone.now()
    JobFailure.objects.create(
        job="deadlines", subject=f"{step}:{message.pk}", failed_at=now, due_at=now + HOUR
    )


def test_failures_that_wait_leave_room_for_others(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "BATCH_SIZE", 1)
    first = accepted(api)
    second = accepted(api, "+79161234568")
    age_rows(seconds=601)
    Message.objects.filter(pk=first.message_id).update(deadline=time_ago(hours=1))
    record_failure("deadline", first.message)

    sweeps.give_up()

    assert (states(first)[1], states(second)[1]) == ("sent", "expired")


def test_failed_fallback_does_not_block_deadlines(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = accepted(api)
    age_rows(seconds=601)
    Message.objects.update(fallback_at=time_ago(minutes=5))
    monkeypatch.setattr(transitions, "fall_back", lambda _ids: 1 / 0)
    sweeps.fall_back()

    sweeps.give_up()

    assert states(attempt)[1] == "expired"
    assert JobFailure.objects.exists()
    assert ledger.balance(api.company.pk) == (1000, 0)
