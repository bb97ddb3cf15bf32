"""The state machine: effects of events on a message, an attempt and a hold, in any order."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from billing.wallet.ledger import DeliveryProof, TransferKind
from channels.lifecycle.snapshots import AttemptState, Decision, MessageState, Snapshot
from channels.lifecycle.state_machine import (
    MAX_TRIES,
    MIN_TIME_LEFT,
    Event,
    EventKind,
    decide,
    give_up,
)

AT = datetime(2026, 1, 31, 10, 0, tzinfo=UTC)
MESSAGE = uuid4()


def message(**fields: object) -> MessageState:
    made = MessageState(
        id=MESSAGE,
        company_id=1,
        mode="live",
        kind="code",
        channel="whatsapp",
        chain=(),
        phone="+79161234567",
        state="queued",
        error="",
        tries=1,
        hold=1,
        price=1,
        time_left=300.0,
        subject_id=uuid4(),
    )
    return made._replace(**fields)  # type: ignore[arg-type]


def attempt(**fields: object) -> AttemptState:
    made = AttemptState(
        id=uuid4(),
        n=1,
        hold=1,
        state="submitting",
        provider="whatsapp_cloud",
        provider_id=None,
        polls=0,
    )
    return made._replace(**fields)  # type: ignore[arg-type]


def decided(
    what: EventKind, to: MessageState, of: AttemptState, *others: AttemptState, **fields: object
) -> Decision:
    snapshot = Snapshot(to, tuple(sorted((of, *others), key=lambda each: each.n)))
    return decide(snapshot, [Event(MESSAGE, of.id, what, **fields)])  # type: ignore[arg-type]


def kinds(of: Decision) -> list[tuple[TransferKind, str, str]]:
    return [(settlement.kind, settlement.proof, settlement.reason) for settlement in of.settlements]


@pytest.mark.parametrize(
    ("what", "message_state", "attempt_state", "money"),
    [
        (EventKind.ACCEPTED, "sent", "sent", []),
        (EventKind.DELIVERED, "delivered", "delivered", [(TransferKind.CAPTURE, "receipt", "")]),
        (EventKind.READ, "delivered", "delivered", [(TransferKind.CAPTURE, "receipt", "")]),
        (EventKind.UNREACHABLE, "failed", "failed", [(TransferKind.RELEASE, "", "failed")]),
        (EventKind.REFUSED, "failed", "failed", [(TransferKind.RELEASE, "", "failed")]),
        (EventKind.RETRY, "queued", "failed", []),
        (EventKind.AMBIGUOUS, "queued", "ambiguous", []),
        (EventKind.EXPIRED, "expired", "expired", [(TransferKind.RELEASE, "", "expired")]),
        (EventKind.GIVEN_UP, "expired", "expired", [(TransferKind.RELEASE, "", "expired")]),
        (EventKind.NO_NEWS, "queued", "submitting", []),
    ],
)
def test_first_event_decides_states_and_money(
    what: EventKind,
    message_state: str,
    attempt_state: str,
    money: list[tuple[TransferKind, str, str]],
) -> None:
    result = decided(what, message(), attempt())

    (its,) = result.attempts
    assert (result.message.state, its.state) == (message_state, attempt_state)
    assert kinds(result) == money


@pytest.mark.parametrize(
    ("what", "error"),
    [
        (EventKind.UNREACHABLE, "recipient_unreachable"),
        (EventKind.BARRED, "recipient_unreachable"),
        (EventKind.REFUSED, "delivery_failed"),
        (EventKind.EXPIRED, "delivery_failed"),
        (EventKind.GIVEN_UP, ""),
    ],
)
def test_message_error_follows_the_event(what: EventKind, error: str) -> None:
    result = decided(what, message(), attempt(), code="131026", detail="x" * 400)

    (its,) = result.attempts
    assert result.message.error == error
    assert (its.error_class, its.error_code, its.error_detail) == (what.value, "131026", "x" * 300)


@pytest.mark.parametrize("state", ["failed", "expired"])
@pytest.mark.parametrize("what", [EventKind.DELIVERED, EventKind.READ])
def test_late_delivery_wins_and_charges_nothing(state: str, what: EventKind) -> None:
    expired = message(state=state, error="delivery_failed")

    result = decided(what, expired, attempt(state=state), at=AT)

    assert (result.message.state, result.message.error) == ("delivered", "")
    assert result.attempts[0].state == "delivered"
    assert (result.delivered_at, result.settlements) == (AT, ())


@pytest.mark.parametrize("state", ["failed", "expired", "delivered"])
@pytest.mark.parametrize("what", sorted(set(EventKind) - {EventKind.DELIVERED, EventKind.READ}))
def test_final_state_ignores_later_events(state: str, what: EventKind) -> None:
    result = decided(what, message(state=state), attempt(state=state))

    assert result.attempts[0].state == state
    assert (result.message.state, result.settlements, result.changes_message) == (state, (), False)


FAULTS = [EventKind.REFUSED, EventKind.UNREACHABLE, EventKind.RETRY]


@pytest.mark.parametrize("what", FAULTS)
def test_rerouted_message_is_due_at_once(what: EventKind) -> None:
    fields = {"can_reroute": True, "code": "20003", "retry_after": 60.0}

    result = decided(what, message(), attempt(), **fields)

    (its,), one = result.attempts, result.message
    assert (one.state, one.due_in, one.hold, result.settlements) == ("queued", 0.0, 1, ())
    assert (its.state, its.error_code) == ("failed", "20003")
    assert not result.is_outcome


@pytest.mark.parametrize("what", FAULTS)
@pytest.mark.parametrize(
    "fields",
    [{"time_left": MIN_TIME_LEFT}, {"tries": MAX_TRIES}, {"tries": 2}, {"state": "delivered"}],
)
def test_message_beyond_another_try_is_not_rerouted(
    what: EventKind, fields: dict[str, object]
) -> None:
    its = attempt(n=MAX_TRIES if fields.get("tries") == MAX_TRIES else 1)

    moved = decided(what, message(**fields), its, can_reroute=True).message
    stayed = decided(what, message(**fields), its).message

    assert (moved.state, moved.due_in is None) == (stayed.state, stayed.due_in is None)


def test_accepted_message_is_not_rerouted() -> None:
    fields = {"can_reroute": True}

    refused = decided(
        EventKind.REFUSED, message(state="sent"), attempt(state="sent"), **fields
    ).message

    assert (refused.state, refused.due_in) == ("failed", None)


def test_read_is_delivered_with_a_second_time() -> None:
    delivered = message(state="delivered")

    result = decided(EventKind.READ, delivered, attempt(state="delivered"), at=AT)

    assert (result.message, result.changes_message) == (delivered, True)
    assert (result.read_at, result.settlements) == (AT, ())


def test_proofs_other_than_receipts_capture_the_hold() -> None:
    for proof in (DeliveryProof.HANDED_OVER, DeliveryProof.CODE_ENTERED, DeliveryProof.CLICK):
        result = decided(EventKind.DELIVERED, message(), attempt(), proof=proof)

        assert kinds(result) == [(TransferKind.CAPTURE, proof, "")]


def test_first_provider_id_is_kept() -> None:
    its = attempt()
    events = [
        Event(MESSAGE, its.id, EventKind.AMBIGUOUS, provider_id="a"),
        Event(MESSAGE, its.id, EventKind.ACCEPTED, provider_id="b"),
    ]

    result = decide(Snapshot(message(), (its,)), events)

    assert (result.attempts[0].state, result.attempts[0].provider_id) == ("sent", "a")


def test_retry_delay_has_jitter_and_respects_retry_after() -> None:
    waits = []
    for _ in range(50):
        retried = decided(EventKind.RETRY, message(time_left=3000.0), attempt(n=1)).message
        waits.append(retried.due_in or 0.0)
    asked = decided(EventKind.RETRY, message(time_left=3000.0), attempt(), retry_after=60.0).message

    assert all(0 <= wait <= 1.0 for wait in waits)
    assert len(set(waits)) > 40
    assert asked.due_in == 60.0


@pytest.mark.parametrize(
    ("fields", "retry_after"),
    [
        ({"tries": MAX_TRIES}, None),
        ({"time_left": MIN_TIME_LEFT}, None),
        ({"time_left": 80.0}, 60.0),
    ],
)
def test_retry_without_tries_or_time_left_fails(
    fields: dict[str, float], retry_after: float | None
) -> None:
    before = message(**fields)

    result = decided(EventKind.RETRY, before, attempt(n=before.tries), retry_after=retry_after)

    failed = result.message
    assert (failed.state, failed.error, failed.due_in) == ("failed", "delivery_failed", None)
    assert kinds(result) == [(TransferKind.RELEASE, "", "failed")]


def test_give_up_ignores_final_messages() -> None:
    delivered = message(state="delivered")

    result = give_up(Snapshot(delivered, ()))

    assert (result.message, result.settlements) == (delivered, ())


@pytest.mark.parametrize(("polls", "wait"), [(0, 20.0), (2, 80.0), (3, 120.0), (9, 120.0)])
def test_poll_delay_grows(polls: int, wait: float) -> None:
    result = decided(EventKind.NO_NEWS, message(state="sent"), attempt(state="sent", polls=polls))

    (its,) = result.attempts
    assert (its.polls, its.poll_in, result.changes_message) == (polls + 1, wait, False)
