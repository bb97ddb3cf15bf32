"""Ambiguous outcomes of vendors that can be polled: only what never arrived is sent again."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, cast
from urllib.parse import parse_qsl

import pytest
import requests
import responses
from django.core.management import call_command
from django.db.models import F
from django.utils import timezone
from pytest_django import Settings

from billing.wallet import ledger
from channels.deliver import dispatcher, sweeps
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Attempt, Message, ProviderAccount, Receipt
from channels.outcomes import due_receipts, transitions
from channels.vendor_accounts import registry, stored_credentials
from tests.api.clients import Api
from tests.api.races import at_once
from tests.channels import message_stages
from tests.channels.accounts import set_account
from tests.channels.message_stages import PHONE, claim, send, states, submitted
from tests.channels.providers.vendors import call_webhook
from tests.factories import AttemptFactory, CompanyFactory, UserFactory
from tests.otp.sent_codes import age_rows

pytestmark = pytest.mark.django_db

HOST = "https://smsc.example.com/sys"
NOT_FOUND = {"error": "message not found", "error_code": 3}
Wire = responses.RequestsMock


@pytest.fixture(autouse=True)
def smsc(settings: Settings) -> None:
    """Makes SMSC the only vendor of SMS."""
    account = {"login": "demo", "password": "secret-password", "sender": ""}
    account |= {"api_url": "https://smsc.example.com", "callback_secret": "smsc-callback-secret"}
    set_account(settings, "smsc", account)
    set_account(settings, "twilio", {"auth_token": ""})


def an_hour_ago() -> datetime:
    return timezone.now() - timedelta(hours=1)


def form_of(request: requests.PreparedRequest) -> dict[str, str]:
    return dict(parse_qsl(b"".join(cast(Iterable[bytes], request.body)).decode()))


def read_and_say_nothing(request: requests.PreparedRequest) -> tuple[int, dict[str, str], str]:
    form_of(request)
    raise requests.exceptions.ReadTimeout


def hand_over(wire: Wire, response: dict[str, Any] | None) -> Attempt:
    """Claims and sends the due message; without an answer the outcome is unclear."""
    if response is None:
        wire.add_callback("POST", f"{HOST}/send.php", callback=read_and_say_nothing)
    else:
        wire.upsert("POST", f"{HOST}/send.php", json=response)
    (claimed,) = claim()
    transitions.commit_events([message_stages.hand_over(claimed)])
    return Attempt.objects.get(pk=claimed.attempt_id)


def unclear(wire: Wire, api: Api) -> Attempt:
    send(api, channel="sms")
    return hand_over(wire, None)


def ask(wire: Wire, response: dict[str, Any]) -> int:
    """Polls the message when it is due; `answer` is the vendor's."""
    Attempt.objects.filter(poll_at__isnull=False).update(poll_at=an_hour_ago())
    wire.upsert("POST", f"{HOST}/status.php", json=response)
    return sweeps.poll()


def report(attempt: Attempt, word: str = "1") -> int:
    """Calls our webhook as the vendor; a worker applies the receipt."""
    provider_id = registry.provider_id_of("smsc", attempt.message_id, PHONE)
    assert provider_id is not None
    phone, _, number = provider_id.partition(":")
    status = call_webhook("smsc", f"id={number}&phone={phone}&status={word}&md5=".encode())
    Receipt.objects.filter(due_at__isnull=False).update(due_at=F("due_at") - timedelta(hours=1))
    while due_receipts.apply_stored():
        pass
    return status


def test_ambiguous_attempt_is_polled_after_the_call_timeout(api: Api) -> None:
    attempt = submitted(api, channel="sms")
    assert attempt.lease_until is not None
    claimed_at = attempt.lease_until - timedelta(seconds=30)  # now(), until the test is over

    event = Event(attempt.message_id, attempt.id, EventKind.AMBIGUOUS)
    transitions.commit_events([dispatcher.with_provider_id(event, "smsc", PHONE)])

    attempt.refresh_from_db()
    assert attempt.state == "ambiguous"
    assert attempt.provider_id == registry.provider_id_of("smsc", attempt.message_id, PHONE)
    # 2 to connect, 8 to read, 2 to spare
    assert attempt.poll_at == claimed_at + timedelta(seconds=12)
    assert sweeps.poll() == 0


def test_poll_that_finds_delivery_charges(wire: Wire, api: Api) -> None:
    attempt = unclear(wire, api)

    assert ask(wire, {"status": 1, "last_timestamp": 1786702505}) == 1

    assert states(attempt) == ("delivered", "delivered")
    assert ledger.balance(api.company.pk) == (984, 0)


@pytest.mark.parametrize("status", [-1, 0])
def test_poll_that_finds_acceptance_keeps_waiting(wire: Wire, api: Api, status: int) -> None:
    attempt = unclear(wire, api)

    ask(wire, {"status": status})

    assert states(attempt) == ("sent", "sent")
    assert claim() == []
    assert ledger.balance(api.company.pk) == (984, 16)
    assert report(attempt) == 200
    assert states(attempt) == ("delivered", "delivered")


@pytest.mark.parametrize("response", [{"error": "wait", "error_code": 9}, {"status": -2}])
def test_poll_without_an_answer_sends_nothing(
    wire: Wire, api: Api, response: dict[str, Any]
) -> None:
    attempt = unclear(wire, api)

    ask(wire, response)

    assert states(attempt) == ("ambiguous", "queued")
    assert claim() == []


def test_unknown_message_is_resent_under_the_same_id(wire: Wire, api: Api) -> None:
    first = unclear(wire, api)
    ask(wire, NOT_FOUND)
    first.refresh_from_db()
    assert (first.state, first.error_class, first.error_code) == ("failed", "retry", "-3")
    assert ledger.balance(api.company.pk) == (984, 16)

    second = hand_over(wire, {"id": 7, "cnt": 1})

    sent = [call.request for call in wire.calls if call.request.url == f"{HOST}/send.php"]
    ids = [form_of(request)["id"] for request in sent]
    assert len(ids) == 2
    assert len(set(ids)) == 1
    assert (second.n, second.state) == (2, "sent")


@pytest.mark.parametrize("is_expired_lease", [False, True])
def test_messages_of_former_credentials_are_not_polled(
    wire: Wire, api: Api, is_expired_lease: bool
) -> None:
    attempt = submitted(api, channel="sms") if is_expired_lease else unclear(wire, api)
    stored_credentials.save(
        name="smsc",
        values={"login": "another", "password": "secret-password"},
        user=UserFactory.create(),
        ip="192.0.2.1",
    )
    Attempt.objects.filter(lease_until__isnull=False).update(lease_until=an_hour_ago())
    sweeps.expire_leases()

    assert ask(wire, NOT_FOUND) == 0

    assert states(attempt) == ("ambiguous", "queued")
    report(attempt)
    assert states(attempt) == ("delivered", "delivered")
    assert ledger.balance(api.company.pk) == (984, 0)


def test_account_with_old_credential_change_is_polled(wire: Wire, api: Api) -> None:
    ProviderAccount.objects.create(name="smsc", credentials_changed_at=an_hour_ago())
    attempt = unclear(wire, api)

    assert ask(wire, NOT_FOUND) == 1

    assert states(attempt) == ("failed", "queued")


def test_polls_of_one_company_leave_room_for_others(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "POLL_BATCH_SIZE", 2)
    crowd = CompanyFactory.create()
    for n, company in enumerate([crowd, crowd, CompanyFactory.create()]):
        AttemptFactory.create(
            message__company=company,
            provider="smsc",
            provider_id=f"79161234567:{n}",
            state="sent",
            poll_at=an_hour_ago() + timedelta(minutes=n),
        )
    wire.post(f"{HOST}/status.php", json={"status": 0})

    sweeps.poll()

    assert {form_of(call.request)["id"] for call in wire.calls} == {"0", "2"}


def test_provider_id_moves_to_the_latest_attempt(wire: Wire, api: Api) -> None:
    first = unclear(wire, api)
    number = (first.provider_id or "").rpartition(":")[2]
    ask(wire, NOT_FOUND)

    second = hand_over(wire, {"id": int(number), "cnt": 1})

    first.refresh_from_db()
    assert (first.provider_id, second.provider_id) == (None, f"{PHONE[1:]}:{number}")
    report(second, "20")
    assert states(second) == ("failed", "failed")
    assert ledger.balance(api.company.pk) == (1000, 0)


def test_unknown_message_fails_without_time_for_a_retry(wire: Wire, api: Api) -> None:
    attempt = unclear(wire, api)
    age_rows(seconds=280)

    ask(wire, NOT_FOUND)

    assert states(attempt) == ("failed", "failed")
    assert ledger.balance(api.company.pk) == (1000, 0)


def test_late_delivery_cancels_a_waiting_retry(wire: Wire, api: Api) -> None:
    first = unclear(wire, api)
    ask(wire, NOT_FOUND)

    report(first)

    assert states(first) == ("delivered", "delivered")
    assert claim() == []
    assert Message.objects.get().due_at is None
    assert ledger.balance(api.company.pk) == (984, 0)


def test_late_delivery_during_the_retry_charges_once(wire: Wire, api: Api) -> None:
    first = unclear(wire, api)
    ask(wire, NOT_FOUND)
    (claimed,) = claim()

    report(first)
    transitions.commit_events(
        [
            Event(
                claimed.message_id,
                claimed.attempt_id,
                EventKind.ACCEPTED,
                first.provider_id,
                pollable=True,
            )
        ]
    )

    second = Attempt.objects.get(pk=claimed.attempt_id)
    assert states(first) == ("delivered", "delivered")
    assert (second.state, second.provider_id) == ("sent", first.provider_id)
    assert ledger.balance(api.company.pk) == (984, 0)
    ask(wire, {"status": 1})
    assert states(second) == ("delivered", "delivered")
    assert ledger.balance(api.company.pk) == (984, 0)


@pytest.mark.django_db(transaction=True)
def test_late_delivery_after_an_accepted_retry_charges_once(wire: Wire, api: Api) -> None:
    first = unclear(wire, api)
    number = int((first.provider_id or "").rpartition(":")[2])
    ask(wire, NOT_FOUND)
    second = hand_over(wire, {"id": number, "cnt": 1})

    report(first)
    report(second, "2")

    assert (states(first)[0], *states(second)) == ("failed", "delivered", "delivered")
    assert ledger.balance(api.company.pk) == (984, 0)
    call_command("reconcile", verbosity=0)


def test_duplicate_known_to_the_vendor_is_not_resent(wire: Wire, api: Api) -> None:
    unclear(wire, api)
    ask(wire, NOT_FOUND)

    second = hand_over(wire, {"error": "duplicate request, wait a minute", "error_code": 9})

    assert states(second) == ("ambiguous", "queued")
    ask(wire, {"status": 1})
    assert states(second) == ("delivered", "delivered")


def test_expired_lease_is_polled(wire: Wire, api: Api) -> None:
    attempt = submitted(api, channel="sms")
    Attempt.objects.update(lease_until=an_hour_ago())
    sweeps.expire_leases()
    assert states(attempt) == ("ambiguous", "queued")
    assert sweeps.poll() == 0

    ask(wire, NOT_FOUND)

    assert states(attempt) == ("failed", "queued")
    assert len(claim()) == 1


def test_lease_ends_when_another_attempt_has_its_id(api: Api) -> None:
    attempt = submitted(api, channel="sms")
    other = submitted(api, "+79161234568", channel="sms")
    taken = registry.provider_id_of("smsc", attempt.message_id, PHONE)
    Attempt.objects.filter(pk=other.pk).update(provider_id=taken)
    Attempt.objects.filter(pk=attempt.pk).update(lease_until=an_hour_ago())

    assert sweeps.expire_leases() == 1

    attempt.refresh_from_db()
    assert (attempt.state, attempt.provider_id, attempt.poll_at) == ("ambiguous", None, None)


def test_vendor_without_client_ids_is_not_polled(api: Api) -> None:
    attempt = submitted(api, channel="whatsapp")
    Attempt.objects.update(lease_until=an_hour_ago())

    sweeps.expire_leases()

    attempt.refresh_from_db()
    assert (attempt.state, attempt.provider_id, attempt.poll_at) == ("ambiguous", None, None)


def test_message_is_polled_five_times_a_minute_at_most(wire: Wire, api: Api) -> None:
    unclear(wire, api)
    asked_at = [float(dispatcher.AMBIGUOUS_POLL_DELAY)]

    for _ in range(8):
        ask(wire, {"error": "wait", "error_code": 9})
        poll_at = Attempt.objects.get().poll_at
        assert poll_at is not None
        asked_at.append(asked_at[-1] + (poll_at - timezone.now()).total_seconds())

    assert max(sum(at <= later < at + 60 for later in asked_at) for at in asked_at) <= 5


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("round_number", range(3))
def test_concurrent_receipt_and_poll_charge_once(wire: Wire, api: Api, round_number: int) -> None:
    first = unclear(wire, api)
    Attempt.objects.update(poll_at=an_hour_ago())
    wire.post(f"{HOST}/status.php", json=NOT_FOUND)
    wire.upsert("POST", f"{HOST}/send.php", json={"id": 7, "cnt": 1})

    at_once([sweeps.poll, lambda: report(first), lambda: len(claim()), sweeps.poll])
    report(first)

    assert Message.objects.get().state == "delivered"
    assert ledger.balance(api.company.pk) == (984, 0)
    call_command("reconcile", verbosity=0)
