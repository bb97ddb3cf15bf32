"""Each guard of delivery tested alone, where no other guard hides its absence."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from pytest_django import Settings

from billing.wallet import ledger
from catalogue.errors import DomainError, Error
from catalogue.ids import uuid7
from channels.accept import send_limits
from channels.deliver import claims, dispatcher
from channels.deliver.dispatcher import Dispatcher
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Attempt, Message
from channels.outcomes import transitions
from channels.providers.base import Accepted, Outgoing
from channels.providers.scripted import ScriptedProvider
from channels.vendor_accounts import registry
from channels.waiting import outcome_signals
from links.addresses.slugs import generate
from tests.api.blocking import end_waiting, on_own_connection, start_blocked
from tests.api.clients import Api
from tests.api.races import at_once
from tests.channels.message_stages import (
    PHONE,
    accepted,
    apply_event,
    claim,
    claimed,
    hand_over,
    send,
    states,
    submitted,
)
from tests.factories import AttemptFactory, LinkFactory, MessageFactory
from tests.otp.sent_codes import forget_limits
from tests.stack.programs import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


class Watched(ScriptedProvider):
    """A provider that first reads what is committed of the attempt, then accepts the message."""

    def __init__(self) -> None:
        super().__init__("whatsapp")
        self.seen: list[list[str]] = []

    def send(self, message: Outgoing) -> Accepted:
        self.seen += at_once([lambda: list(Attempt.objects.values_list("state", flat=True))])
        return super().send(message)


class Broken(ScriptedProvider):
    """A provider that accepts the message and then raises."""

    def send(self, message: Outgoing) -> Accepted:
        super().send(message)
        raise KeyError("bug")


def test_attempt_is_committed_before_the_vendor_is_called(
    test_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched()
    monkeypatch.setitem(registry.test_providers(), "test_whatsapp", watched)
    send(test_api)
    worker = Dispatcher()

    worker.claim()
    worker.loop.pool.shutdown()

    assert watched.seen == [["submitting"]]


def test_crash_of_a_provider_leaves_the_outcome_unknown(
    test_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Broken("whatsapp")
    monkeypatch.setitem(registry.test_providers(), "test_whatsapp", broken)
    message = claimed(test_api)

    transitions.commit_events([hand_over(message)])

    assert states(Attempt.objects.get()) == ("ambiguous", "queued")
    assert claim() == []


def test_crash_outside_the_provider_is_an_outcome_too(
    test_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without one its thread would count as busy for the life of the process."""
    message = claimed(test_api)

    def crash(*_: object) -> None:
        raise RuntimeError("our own bug")

    monkeypatch.setattr(dispatcher, "_count_call", crash)

    transitions.commit_events([hand_over(message)])

    assert states(Attempt.objects.get()) == ("ambiguous", "queued")


def test_claim_skips_a_locked_message(api: Api) -> None:
    send(api)
    with transaction.atomic():
        mine = claims.claim(7)
        (theirs,) = at_once([_claimed_or_refused])

    assert (len(mine), theirs) == (1, [])
    assert Attempt.objects.count() == 1


def _claimed_or_refused() -> object:
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:  # shorter than the other may idle
                cursor.execute("SET LOCAL lock_timeout = '1s'")
            return claims.claim(7)
    except DatabaseError as error:
        return error


def test_late_refusal_keeps_the_cool_down_of_a_newer_send(api: Api) -> None:
    first = submitted(api)
    forget_limits()
    send(api)

    apply_event(first, EventKind.UNREACHABLE)

    assert api.post("/otp/send", {"phone": PHONE}).status == 429


def test_give_up_skips_a_message_claimed_meanwhile(api: Api) -> None:
    message = send(api)

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            (claimed,) = claims.claim(7)
            late = start_blocked(pool, partial(transitions.give_up, [message.id]))
        assert late.result() == []

    assert states(Attempt.objects.get(pk=claimed.attempt_id)) == ("submitting", "queued")
    assert ledger.balance(api.company.pk) == (999, 1)


def test_message_goes_to_a_provider_of_its_mode(api: Api, test_api: Api) -> None:
    for client in (api, test_api):
        send(client, channel="sms")

    claimed = claims.claim(7)

    assert {attempt.mode: attempt.provider for attempt in claimed} == {
        "live": "twilio",
        "test": "test_sms",
    }


def test_slow_vendor_leaves_threads_to_others(test_api: Api) -> None:
    for channel in ("whatsapp", "sms"):
        send(test_api, f"+7916123456{len(channel)}", channel=channel)
    worker = Dispatcher()
    worker.in_flight["test_whatsapp"] = dispatcher.MAX_THREADS_PER_PROVIDER

    worker.claim()
    worker.loop.pool.shutdown()

    assert [attempt.provider for attempt in Attempt.objects.all()] == ["test_sms"]


def test_message_has_one_open_attempt(api: Api) -> None:
    attempt = submitted(api)

    with pytest.raises(IntegrityError), transaction.atomic():
        AttemptFactory.create(message=attempt.message, n=2, state="ambiguous")

    assert Attempt.objects.count() == 1


def test_event_is_applied_under_the_lock(api: Api) -> None:
    attempt = accepted(api)
    refused = partial(
        transitions.commit_events, [Event(attempt.message_id, attempt.id, EventKind.REFUSED)]
    )

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic(), connection.cursor() as cursor:
            transitions.apply_in_transaction(
                cursor, [Event(attempt.message_id, attempt.id, EventKind.DELIVERED)]
            )
            late = start_blocked(pool, refused)
        assert late.result() == []

    assert states(attempt) == ("delivered", "delivered")
    assert ledger.balance(api.company.pk) == (999, 0)


def test_outcome_is_kept_until_it_is_written(api: Api) -> None:
    attempt = submitted(api)
    worker = Dispatcher()
    worker.pending_events = [
        Event(attempt.message_id, attempt.id, EventKind.ACCEPTED, provider_id="vendor-1")
    ]

    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        Message.objects.select_for_update().get()
        writing = start_blocked(pool, partial(worker.loop.run_safely, worker.record))
        end_waiting()
        writing.result()
    assert states(attempt) == ("submitting", "queued")
    worker.record()

    assert states(attempt) == ("sent", "sent")


def test_waiting_sends_hold_no_database_connection(
    dispatcher: Dispatcher, api: Api, settings: Settings
) -> None:
    dispatcher.stop()
    settings.SEND_WAIT = 60.0  # until they are let go
    total = settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"] + 4
    sends = [partial(send_after_a_read, api, f"+791612345{n:02d}") for n in range(total)]

    with ThreadPoolExecutor(total) as pool:
        sending = []
        try:
            for count, send_code in enumerate(sends, start=1):
                # One by one: of those that come together, only the first has a connection.
                sending.append(pool.submit(on_own_connection, send_code))
                wait_until(partial(_waits, count))
        finally:
            outcome_signals._wake_all()

    assert {future.result().state for future in sending} == {"queued"}


def _waits(count: int) -> bool:
    return len(outcome_signals._waiters) == Message.objects.count() == count


def send_after_a_read(api: Api, phone: str) -> Message:
    """Sends after a read, as with an Idempotency-Key, whose stored answer is looked for."""
    connection.ensure_connection()
    return send(api, phone)


def test_sends_to_one_phone_are_serialised_without_redis(api: Api, no_redis: None) -> None:
    mine, theirs = (
        send_limits.Send(uuid7(), api.company.pk, "live", "code", PHONE) for _ in range(2)
    )

    with ThreadPoolExecutor(1) as pool:
        with send_limits.acquire(mine):
            late = start_blocked(pool, partial(_refusal, theirs))
            MessageFactory.create(company=api.company, phone=PHONE)
        assert late.result() is Error.RESEND_TOO_SOON


def test_lock_without_redis_ends_with_its_transaction(api: Api, no_redis: None) -> None:
    """A lock of the session would stay in a pooler's session, which others get next."""
    limited_send = send_limits.Send(uuid7(), api.company.pk, "live", "code", PHONE)

    with send_limits.acquire(limited_send), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock_all()")
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted")
        held = cursor.fetchone()

    assert held == (1,)


def test_failed_try_without_redis_is_tried_again(
    api: Api, no_redis: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A taken slug must not end the transaction that holds the lock."""
    drawn = iter([LinkFactory.create().slug])
    monkeypatch.setattr(
        "links.addresses.slugs.generate", lambda length: next(drawn, generate(length))
    )

    response = api.post("/links/send", {"phone": PHONE, "url": "https://example.com"})

    assert response.status == 200


def _refusal(one: send_limits.Send) -> Error | None:
    try:
        with send_limits.acquire(one):
            return None
    except DomainError as refusal:
        return refusal.error
