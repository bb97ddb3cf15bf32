"""The dispatcher: from accepted to handed over, its threads, and the waiting sender."""

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import cast
from uuid import uuid4

import pytest
import requests
import responses
from django.conf import settings as django_settings
from pytest_django import Settings

from billing.wallet import ledger
from channels.deliver import claims
from channels.deliver import dispatcher as delivery
from channels.deliver.dispatcher import Dispatcher
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Attempt, Message
from channels.outcomes import transitions
from channels.waiting import outcome_signals
from links.models import Link
from tests.api.clients import Api, ApiResponse
from tests.api.races import at_once
from tests.channels.message_stages import PHONE, claim, send
from tests.otp.sent_codes import code_of
from tests.stack.programs import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

WHATSAPP = "{api_url}/{version}/{phone_number_id}/messages".format_map(
    django_settings.PROVIDER_ACCOUNTS["whatsapp_cloud"]
)
NOT_ON_WHATSAPP = {"error": {"code": 131026, "message": "Message undeliverable", "type": "OAuth"}}


def accepted_body(wamid: str = "wamid.1") -> dict[str, object]:
    return {"messaging_product": "whatsapp", "messages": [{"id": wamid}]}


def written(request: requests.PreparedRequest) -> bytes:
    return b"".join(cast(Iterable[bytes], request.body))


def read_and_say_nothing(request: requests.PreparedRequest) -> tuple[int, dict[str, str], str]:
    written(request)
    raise requests.exceptions.ReadTimeout


def last_attempt() -> Attempt:
    return Attempt.objects.select_related("message").latest("started_at")


def test_accepted_message_is_sent(
    wire: responses.RequestsMock, dispatcher: Dispatcher, api: Api
) -> None:
    wire.post(WHATSAPP, json=accepted_body())

    response = api.post("/otp/send", {"phone": PHONE})

    assert (response.status, response.body["status"]) == (200, "sent")
    attempt = last_attempt()
    assert (attempt.state, attempt.provider, attempt.provider_id) == (
        "sent",
        "whatsapp_cloud",
        "wamid.1",
    )
    assert code_of(PHONE).encode() in written(wire.calls[0].request)
    assert ledger.balance(api.company.pk) == (999, 1)


def test_unreachable_phone_is_reported_and_not_charged(
    wire: responses.RequestsMock, dispatcher: Dispatcher, api: Api
) -> None:
    wire.post(WHATSAPP, json=NOT_ON_WHATSAPP, status=400)

    response = api.post("/otp/send", {"phone": PHONE})

    assert (response.status, response.code) == (422, "recipient_unreachable")
    assert (response.body["channel"], response.body["id"]) == (
        "whatsapp",
        Message.objects.get().public_id,
    )
    assert ledger.balance(api.company.pk) == (1000, 0)
    wire.upsert(responses.POST, WHATSAPP, json=accepted_body())
    assert api.post("/otp/send", {"phone": PHONE}).status == 200  # its place was given back first


def test_vendor_timeout_leaves_the_message_queued_without_a_retry(
    wire: responses.RequestsMock, dispatcher: Dispatcher, api: Api, settings: Settings
) -> None:
    settings.SEND_WAIT = 0.1
    wire.add_callback(responses.POST, WHATSAPP, callback=read_and_say_nothing)

    response = api.post("/otp/send", {"phone": PHONE})
    wait_until(lambda: Attempt.objects.filter(state="ambiguous").exists())
    dispatcher.wake()
    time.sleep(0.1)

    assert (response.status, response.body["status"]) == (200, "queued")
    assert len(wire.calls) == Attempt.objects.count() == 1
    assert ledger.balance(api.company.pk) == (999, 1)


def test_throttled_message_is_retried_later(
    wire: responses.RequestsMock, dispatcher: Dispatcher, api: Api
) -> None:
    wire.post(WHATSAPP, json={"error": {"code": 130429, "message": "slow down"}}, status=429)

    response = api.post("/otp/send", {"phone": PHONE})

    assert (response.status, response.body["status"]) == (200, "queued")
    attempt = last_attempt()
    assert (attempt.state, attempt.message.state) == ("failed", "queued")
    assert attempt.message.due_at is not None
    wire.upsert(responses.POST, WHATSAPP, json=accepted_body())
    Message.objects.update(due_at=attempt.message.created_at)
    dispatcher.wake()
    wait_until(lambda: Message.objects.get().state == "sent")
    assert list(Attempt.objects.order_by("n").values_list("n", "state")) == [
        (1, "failed"),
        (2, "sent"),
    ]


def free_places() -> int:
    taken = 0
    while outcome_signals._slots.acquire(blocking=False):
        taken += 1
    for _ in range(taken):
        outcome_signals._slots.release()
    return taken


@pytest.fixture
def waiting_api(company: object, settings: Settings, api: Api) -> Api:
    """A client that waits for the outcome of a send, but not for long."""
    settings.SEND_WAIT = 0.1
    return api


def test_response_is_queued_when_no_worker_runs(
    dispatcher: Dispatcher, waiting_api: Api, settings: Settings
) -> None:
    dispatcher.stop()
    before = free_places()

    started = time.monotonic()
    response = waiting_api.post("/otp/send", {"phone": PHONE})

    assert time.monotonic() - started >= 0.1
    assert (response.status, response.body["status"]) == (200, "queued")
    assert free_places() == before
    assert outcome_signals._waiters == {}


def test_waiter_reads_the_row_after_a_lost_signal(
    dispatcher: Dispatcher, waiting_api: Api, settings: Settings
) -> None:
    dispatcher.stop()
    settings.SEND_WAIT = 0.5

    def fail_quietly() -> None:
        wait_until(Message.objects.exists)
        Message.objects.update(state="failed", error="recipient_unreachable")

    calls: list[Callable[[], ApiResponse | None]] = [
        lambda: waiting_api.post("/otp/send", {"phone": PHONE}),
        fail_quietly,
    ]
    response, _ = at_once(calls)

    assert response is not None
    assert (response.status, response.code) == (422, "recipient_unreachable")


def test_waiter_receives_signals_of_its_message_only() -> None:
    mine = uuid4()
    other = uuid4()
    with outcome_signals.waiter(mine, 1) as waiter:
        assert waiter is not None
        outcome_signals.publish([outcome_signals.Signal(other, "failed", "sms", "")])
        assert waiter.wait(0.1) is None

        outcome_signals.publish(
            [
                outcome_signals.Signal(other, "sent", "sms", ""),
                outcome_signals.Signal(mine, "sent", "sms", ""),
            ]
        )

        assert waiter.wait(25) == outcome_signals.Signal(mine, "sent", "sms", "")


@pytest.mark.usefixtures("queued_at_once")
def test_sends_beyond_the_waiter_limit_do_not_wait() -> None:
    with outcome_signals.waiter(uuid4(), 1) as waiter:
        assert waiter is None


def test_waiters_of_one_company_leave_slots_to_others(settings: Settings) -> None:
    with ExitStack() as stack:

        def count_waiters(company_id: int) -> int:
            asked = (outcome_signals.waiter(uuid4(), company_id) for _ in range(150))
            return sum(stack.enter_context(waiting) is not None for waiting in asked)

        hanging, second, third = (count_waiters(company_id) for company_id in (1, 2, 3))

        assert hanging == pytest.approx(settings.SEND_WAITERS * 3 / 4, abs=1)
        assert second > third > 0


def test_new_worker_delivers_earlier_messages(test_api: Api) -> None:
    send(test_api)
    worker = Dispatcher()
    thread = threading.Thread(target=worker.run)

    thread.start()
    wait_until(lambda: Message.objects.get().state == "delivered")
    worker.stop()
    thread.join(25)

    assert not thread.is_alive()


def test_claims_are_bounded_by_free_threads(test_api: Api, settings: Settings) -> None:
    settings.DELIVERY_THREADS = 3
    for number in range(5):
        send(test_api, f"+7916123456{number}")
    worker = Dispatcher()

    worker.claim()

    assert Attempt.objects.count() == worker.in_flight.total() == 3


def test_outcome_the_database_rejects_delays_no_other(api: Api) -> None:
    for number in range(3):
        send(api, f"+7916123456{number}")
    claimed = claims.claim(3)
    worker = Dispatcher()
    worker.pending_events = [
        Event(claimed[0].message_id, claimed[0].attempt_id, EventKind.ACCEPTED, provider_id="same"),
        Event(claimed[1].message_id, claimed[1].attempt_id, EventKind.ACCEPTED, provider_id="same"),
        Event(
            claimed[2].message_id, claimed[2].attempt_id, EventKind.ACCEPTED, provider_id="other"
        ),
    ]

    worker.record()

    assert worker.pending_events == []
    assert sorted(Attempt.objects.values_list("state", flat=True)) == ["sent", "sent", "submitting"]


def test_call_that_starts_too_late_is_not_made(wire: responses.RequestsMock, api: Api) -> None:
    send(api)
    (claimed,) = claims.claim(1)

    event = delivery.hand_over(claimed, time.monotonic() - 1)

    assert (event.kind, event.code) == (EventKind.RETRY, "late")
    assert len(wire.calls) == 0


def test_unrenderable_message_fails_without_a_charge(api: Api, settings: Settings) -> None:
    send(api)
    (claimed,) = claims.claim(1)
    settings.OTP_KEYS = {"new": b"x" * 32}

    event = delivery.hand_over(claimed, time.monotonic() + 60)
    transitions.commit_events([event])

    assert (event.kind, event.code) == (EventKind.REFUSED, "internal")
    assert Message.objects.get().state == "failed"
    assert ledger.balance(api.company.pk) == (1000, 0)


def test_outgoing_message_has_all_fields(api: Api) -> None:
    send(api, channel="sms", locale="en", link="https://example.com/")
    (claimed,) = claim()

    outgoing = delivery.outgoing(claimed)

    link = Link.objects.get()
    assert outgoing.ref == str(claimed.attempt_id)
    assert (outgoing.phone, outgoing.content, outgoing.locale) == (PHONE, "code_with_link", "en")
    assert outgoing.code == code_of(PHONE)
    assert outgoing.text == (
        f"Your code is {outgoing.code}. Do not share it. Ромашка\n{link.short_url}"
    )
    assert (outgoing.short_url, outgoing.brand, outgoing.n) == (link.short_url, "Ромашка", 1)
    assert 290 <= outgoing.ttl <= 300
