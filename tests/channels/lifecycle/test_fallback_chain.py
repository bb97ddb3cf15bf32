"""The fallback chain without a database: who asks for a step, its effects, and its cancellation."""

from collections.abc import Callable

import pytest

from billing.wallet.ledger import TransferKind
from channels.lifecycle import fallback_chain
from channels.lifecycle.snapshots import (
    AttemptState,
    Decision,
    FallbackReason,
    FallbackRequest,
    FallbackStep,
    MessageState,
    Snapshot,
    unchanged_decision,
)
from channels.lifecycle.state_machine import MIN_TIME_LEFT, Event, EventKind, decide
from tests.channels.lifecycle.test_state_machine import (
    AT,
    MESSAGE,
    attempt,
    decided,
    kinds,
    message,
)

TELEGRAM = FallbackStep("telegram", 1, 45.0)
SMS = FallbackStep("sms", 16, 20.0)


def refused(what: EventKind = EventKind.REFUSED, **fields: object) -> Decision:
    """Returns the decision on a message that WhatsApp refused, with SMS as the next channel."""
    before = message(**{"chain": (SMS,)} | fields)
    return decided(what, before, attempt(channel="whatsapp", price=1), code="x")


def moved(
    why: FallbackReason = FallbackReason.PATIENCE, state: str = "sent"
) -> tuple[MessageState, AttemptState]:
    """A message that fell back from WhatsApp to an SMS that is not claimed yet."""
    its = attempt(channel="whatsapp", price=1, state=state)
    before = unchanged_decision(Snapshot(message(state="sent", chain=(SMS,)), (its,)))
    after = fallback_chain.accept_fallback(before, FallbackRequest(why))
    return after.message, after.attempts[0]


def tried(**fields: object) -> tuple[MessageState, AttemptState, AttemptState]:
    """A message that fell back from WhatsApp to an SMS that the vendor has."""
    one, first = moved()
    second = attempt(**{"n": 2, "hold": 2, "state": "sent", "channel": "sms", "price": 16} | fields)
    return one._replace(tries=2, due_in=None), first, second


@pytest.mark.parametrize(
    "what", [EventKind.UNREACHABLE, EventKind.BARRED, EventKind.REFUSED, EventKind.EXPIRED]
)
def test_failed_attempt_requests_a_fallback(what: EventKind) -> None:
    result = refused(what)

    assert result.fallback is not None
    assert result.fallback.reason is FallbackReason.REFUSED
    assert (result.message.state, result.settlements) == ("queued", ())
    assert result.attempts[0].state == ("expired" if what is EventKind.EXPIRED else "failed")


@pytest.mark.parametrize(
    "what", [EventKind.ACCEPTED, EventKind.AMBIGUOUS, EventKind.RETRY, EventKind.NO_NEWS]
)
def test_pending_attempt_requests_no_fallback(what: EventKind) -> None:
    assert refused(what).fallback is None


@pytest.mark.parametrize("what", [EventKind.UNREACHABLE, EventKind.GIVEN_UP])
def test_failure_near_the_end_requests_no_fallback(what: EventKind) -> None:
    result = refused(what, time_left=MIN_TIME_LEFT)

    assert (result.fallback, result.message.state in {"failed", "expired"}) == (None, True)


def test_deadline_requests_no_fallback() -> None:
    result = refused(EventKind.GIVEN_UP)

    assert (result.fallback, result.message.state) == (None, "expired")


@pytest.mark.parametrize("state", ["submitting", "ambiguous", "sent"])
def test_expired_patience_ends_the_open_attempt(state: str) -> None:
    its = attempt(state=state)
    one = message(state="sent", chain=(TELEGRAM, SMS))
    result = fallback_chain.expire_patience(Snapshot(one, (its,)))
    assert result.fallback == FallbackRequest(FallbackReason.PATIENCE)

    result = fallback_chain.accept_fallback(result, result.fallback)

    ended = its._replace(state="expired", error_class="patience", error_code="patience")
    assert result.changed_attempts == [(its, ended)]
    one = result.message
    assert (one.state, one.channel, one.chain) == ("sent", "telegram", (SMS,))


@pytest.mark.parametrize("fields", [{"state": "delivered"}, {"state": "failed"}, {"chain": ()}])
def test_patience_ignores_final_messages_and_empty_chains(fields: dict[str, object]) -> None:
    final = message(**{"chain": (SMS,)} | fields)

    result = fallback_chain.expire_patience(Snapshot(final, ()))

    assert (result.fallback, result.changes_message) == (None, False)


@pytest.mark.parametrize(
    ("what", "error"),
    [(EventKind.UNREACHABLE, "recipient_unreachable"), (EventKind.REFUSED, "delivery_failed")],
)
def test_rejected_fallback_after_a_refusal_ends_the_message(what: EventKind, error: str) -> None:
    result = refused(what)
    assert result.fallback is not None

    result = fallback_chain.reject_fallback(result, result.fallback)

    assert (result.message.state, result.message.error) == ("failed", error)
    assert kinds(result) == [(TransferKind.RELEASE, "", "failed")]
    assert result.fallback_events == ((FallbackReason.TOKENS, "sms"),)


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [
        ("unreachable", EventKind.UNREACHABLE, "recipient_unreachable"),
        ("unreachable", EventKind.BARRED, "recipient_unreachable"),
        ("barred", EventKind.UNREACHABLE, "recipient_unreachable"),
        ("refused", EventKind.BARRED, "delivery_failed"),
        ("refused", EventKind.UNREACHABLE, "delivery_failed"),
        ("patience", EventKind.UNREACHABLE, "delivery_failed"),
        ("unreachable", EventKind.REFUSED, "delivery_failed"),
    ],
)
def test_unreachable_needs_every_channel_to_agree(
    first: str, second: EventKind, error: str
) -> None:
    one, before, its = tried(state="submitting")

    one = decided(second, one, its, before._replace(error_class=first)).message

    assert (one.state, one.error) == ("failed", error)


def test_last_error_of_a_channel_counts() -> None:
    earlier = attempt(n=1, state="failed", error_class="retry")
    last = attempt(n=2, state="failed", error_class="unreachable")
    its = attempt(n=3, hold=2)

    result = decided(EventKind.UNREACHABLE, message(tries=3, hold=2), its, earlier, last)

    assert result.message.error == "recipient_unreachable"


def test_tries_are_counted_by_channel() -> None:
    its = attempt(n=9, hold=2)
    earlier = attempt(n=8, state="failed")

    retried = decided(EventKind.RETRY, message(tries=9, hold=2), its, earlier).message

    assert (retried.state, retried.due_in is not None) == ("queued", True)


@pytest.mark.parametrize("what", sorted(set(EventKind) - {EventKind.DELIVERED, EventKind.READ}))
@pytest.mark.parametrize("state", ["failed", "expired"])
def test_event_of_an_earlier_channel_keeps_the_current_one(what: EventKind, state: str) -> None:
    one, its = moved()

    result = decided(what, one, its._replace(state=state))

    assert (one.state, one.due_in) == ("sent", 0.0)
    assert (result.message, result.settlements, result.changes_message) == (one, (), False)


@pytest.mark.parametrize("state", ["submitting", "ambiguous", "sent"])
def test_late_proof_keeps_an_attempt_that_a_vendor_has(state: str) -> None:
    result = decided(EventKind.DELIVERED, *tried(state=state))

    delivered = result.message
    assert (delivered.state, delivered.is_owed, result.settlements) == ("delivered", True, ())
    assert (delivered.channel, delivered.price) == ("sms", 16)
    assert result.fallback_events == ((FallbackReason.OWED, "sms"),)


@pytest.mark.parametrize(
    ("what", "money"),
    [
        (EventKind.DELIVERED, (TransferKind.CAPTURE, 2, 16, "receipt")),
        (EventKind.READ, (TransferKind.CAPTURE, 2, 16, "receipt")),
        (EventKind.REFUSED, (TransferKind.RELEASE, 2, 16, "")),
        (EventKind.UNREACHABLE, (TransferKind.RELEASE, 2, 16, "")),
        (EventKind.RETRY, (TransferKind.RELEASE, 2, 16, "")),
        (EventKind.EXPIRED, (TransferKind.RELEASE, 2, 16, "")),
        (EventKind.GIVEN_UP, (TransferKind.RELEASE, 2, 16, "")),
    ],
)
def test_owed_hold_is_settled_by_its_attempt(
    what: EventKind, money: tuple[TransferKind, int, int, str]
) -> None:
    one, first, second = tried(state="submitting")
    events = [
        Event(MESSAGE, first.id, EventKind.DELIVERED),
        Event(MESSAGE, second.id, what),
        Event(MESSAGE, second.id, what),
    ]

    result = decide(Snapshot(one, (first, second)), events)

    assert [(s.kind, s.hold, s.amount, s.proof) for s in result.settlements] == [money]
    one = result.message
    assert (one.state, one.is_owed, one.due_in) == ("delivered", False, None)


def test_owed_hold_waits_for_the_open_attempt() -> None:
    one, first, second = tried(state="failed")
    third = attempt(n=3, hold=2, state="sent")
    events = [
        Event(MESSAGE, first.id, EventKind.DELIVERED),
        Event(MESSAGE, second.id, EventKind.EXPIRED),
    ]

    result = decide(Snapshot(one._replace(tries=3), (first, second, third)), events)

    assert (result.message.is_owed, result.settlements) == (True, ())


def test_read_receipt_of_the_first_attempt_keeps_the_owed_hold() -> None:
    one, first, second = tried()
    events = [
        Event(MESSAGE, first.id, EventKind.DELIVERED),
        Event(MESSAGE, first.id, EventKind.READ, at=AT),
    ]

    result = decide(Snapshot(one, (first, second)), events)

    assert (result.message.is_owed, result.settlements, result.read_at) == (True, (), AT)


def test_proof_in_the_commit_of_a_refusal_charges() -> None:
    its = attempt(channel="whatsapp", price=1)
    events = [
        Event(MESSAGE, its.id, EventKind.REFUSED),
        Event(MESSAGE, its.id, EventKind.DELIVERED),
    ]

    result = decide(Snapshot(message(chain=(SMS,)), (its,)), events)

    assert (result.fallback, result.message.state) == (None, "delivered")
    assert kinds(result) == [(TransferKind.CAPTURE, "receipt", "")]


def in_hand() -> Snapshot:
    return Snapshot(message(state="sent", chain=(SMS,)), (attempt(state="sent"),))


def waiting_for_its_first_try() -> Snapshot:
    return Snapshot(message(tries=0, chain=(SMS,), due_in=0.0), ())


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (in_hand, FallbackReason.CODE_ENTERED),
        (in_hand, FallbackReason.CLICK),
        (waiting_for_its_first_try, FallbackReason.CLICK),
    ],
)
def test_cancelled_fallback_ends_the_chain_but_not_the_message(
    make: Callable[[], Snapshot], reason: FallbackReason
) -> None:
    before = make()

    result = fallback_chain.cancel_fallback(unchanged_decision(before), reason)

    assert result.message == before.message._replace(chain=())
    assert (result.fallback_events, result.settlements) == (((reason, "sms"),), ())


def test_entered_code_ends_a_message_that_waits_for_its_first_try() -> None:
    before = waiting_for_its_first_try()

    result = fallback_chain.cancel_fallback(unchanged_decision(before), FallbackReason.CODE_ENTERED)

    assert (result.message.state, result.message.chain) == ("expired", ())
    assert kinds(result) == [(TransferKind.RELEASE, "", "code_entered")]


def test_cancelled_fallback_keeps_open_attempts_and_final_messages() -> None:
    one, first, second = tried()
    delivered = message(state="delivered", chain=(SMS,))

    for before in (Snapshot(one, (first, second)), Snapshot(delivered, ())):
        nothing = unchanged_decision(before)
        assert fallback_chain.cancel_fallback(nothing, FallbackReason.CODE_ENTERED) == nothing
