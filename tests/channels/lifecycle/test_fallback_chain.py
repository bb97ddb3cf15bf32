"""The fallback chain without a database: who asks for a step, its effects, and its cancellation."""

from collections.abc import Callable

import pytest

from billing.wallet.ledger import DeliveryProof, TransferKind
from channels.lifecycle import fallback_chain
from channels.lifecycle.state_machine import (
    MIN_TIME_LEFT,
    AttemptState,
    EventKind,
    MessageState,
    give_up,
)
from channels.lifecycle.steps import FallbackReason, FallbackRequest, Step
from tests.channels.lifecycle.test_state_machine import AT, attempt, happen, kinds, message

TELEGRAM, SMS = Step("telegram", 1, 45.0), Step("sms", 16, 20.0)


def refused(
    what: EventKind = EventKind.REFUSED, **fields: object
) -> tuple[MessageState, AttemptState]:
    """By WhatsApp, with an SMS behind it."""
    one = message(**{"chain": [SMS]} | fields)
    its = attempt(channel="whatsapp", price=1)
    happen(what, one, its, code="x")
    return one, its


def moved(
    why: FallbackReason = FallbackReason.PATIENCE, state: str = "sent"
) -> tuple[MessageState, AttemptState]:
    """From WhatsApp to an SMS that nobody has claimed yet, as the database would give it back."""
    its = attempt(channel="whatsapp", price=1, state=state)
    one = message(state="sent", chain=[SMS], attempts=[its])
    fallback_chain.accept_fallback(one, FallbackRequest(why))
    one.fallback_events, one.changed, its.changed = [], False, False
    return one, its


def tried(**fields: object) -> tuple[MessageState, AttemptState, AttemptState]:
    """The same, the SMS in the vendor's hands."""
    one, first = moved()
    one.tries, one.due_in = 2, None
    second = attempt(**{"n": 2, "hold": 2, "state": "sent", "channel": "sms", "price": 16} | fields)
    one.attempts.append(second)
    return one, first, second


@pytest.mark.parametrize("what", [EventKind.UNREACHABLE, EventKind.REFUSED, EventKind.EXPIRED])
def test_failed_attempt_requests_a_fallback(what: EventKind) -> None:
    one, its = refused(what)

    assert one.fallback_request is not None
    assert (one.fallback_request.reason, one.state, one.settlements) == (
        FallbackReason.REFUSED,
        "queued",
        [],
    )
    assert its.state == ("expired" if what is EventKind.EXPIRED else "failed")


@pytest.mark.parametrize(
    "what", [EventKind.ACCEPTED, EventKind.AMBIGUOUS, EventKind.RETRY, EventKind.NO_NEWS]
)
def test_pending_attempt_requests_no_fallback(what: EventKind) -> None:
    one, _its = refused(what)

    assert one.fallback_request is None


@pytest.mark.parametrize("what", [EventKind.UNREACHABLE, EventKind.GIVEN_UP])
def test_failure_near_the_end_requests_no_fallback(what: EventKind) -> None:
    one, _its = refused(what, time_left=MIN_TIME_LEFT)

    assert (one.fallback_request, one.state in {"failed", "expired"}) == (None, True)


def test_deadline_requests_no_fallback() -> None:
    one, _its = refused(EventKind.GIVEN_UP)

    assert (one.fallback_request, one.state) == (None, "expired")


def test_accepted_fallback_switches_the_channel() -> None:
    one, its = refused()
    assert one.fallback_request is not None

    fallback_chain.accept_fallback(one, one.fallback_request)

    assert (one.state, one.channel, one.price, one.hold) == ("queued", "sms", 16, 2)
    assert (one.due_in, one.fallback_in, one.chain) == (0.0, 20.0, [])
    assert (one.fallback_events, its.state) == ([(FallbackReason.REFUSED, "sms")], "failed")


@pytest.mark.parametrize("state", ["submitting", "ambiguous", "sent"])
def test_expired_patience_ends_the_open_attempt(state: str) -> None:
    its = attempt(state=state)
    one = message(state="sent", chain=[TELEGRAM, SMS], attempts=[its])
    fallback_chain.expire_patience(one)
    assert one.fallback_request == FallbackRequest(FallbackReason.PATIENCE)

    fallback_chain.accept_fallback(one, one.fallback_request)

    assert (its.state, its.error_class, its.changed) == ("expired", "patience", True)
    assert (one.state, one.channel, one.chain) == ("sent", "telegram", [SMS])


def test_expired_patience_switches_an_unclaimed_message() -> None:
    one = message(tries=0, chain=[SMS], due_in=2.0)

    fallback_chain.expire_patience(one)

    assert one.fallback_request == FallbackRequest(FallbackReason.PATIENCE)


@pytest.mark.parametrize("fields", [{"state": "delivered"}, {"state": "failed"}, {"chain": []}])
def test_patience_ignores_final_messages_and_empty_chains(fields: dict[str, object]) -> None:
    one = message(**{"chain": [SMS]} | fields)

    fallback_chain.expire_patience(one)

    assert (one.fallback_request, one.changed) == (None, False)


def test_patience_near_the_end_ends_the_chain() -> None:
    one = message(state="sent", chain=[SMS], time_left=MIN_TIME_LEFT)

    fallback_chain.expire_patience(one)

    assert (one.fallback_request, one.chain, one.fallback_events) == (
        None,
        [],
        [(FallbackReason.TIME, "sms")],
    )
    assert (one.state, one.settlements) == ("sent", [])


def test_rejected_fallback_after_patience_keeps_the_attempt() -> None:
    its = attempt(state="sent")
    one = message(state="sent", chain=[SMS], attempts=[its])

    fallback_chain.reject_fallback(one, FallbackRequest(FallbackReason.PATIENCE))

    assert (one.state, its.state, one.settlements) == ("sent", "sent", [])
    assert (one.chain, one.fallback_events) == ([], [(FallbackReason.TOKENS, "sms")])


@pytest.mark.parametrize(
    ("what", "error"),
    [(EventKind.UNREACHABLE, "recipient_unreachable"), (EventKind.REFUSED, "delivery_failed")],
)
def test_rejected_fallback_after_a_refusal_ends_the_message(what: EventKind, error: str) -> None:
    one, _its = refused(what)
    assert one.fallback_request is not None

    fallback_chain.reject_fallback(one, one.fallback_request)

    assert (one.state, one.error, kinds(one)) == (
        "failed",
        error,
        [(TransferKind.RELEASE, "", "failed")],
    )
    assert one.fallback_events == [(FallbackReason.TOKENS, "sms")]


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [
        ("unreachable", EventKind.UNREACHABLE, "recipient_unreachable"),
        ("refused", EventKind.UNREACHABLE, "delivery_failed"),
        ("patience", EventKind.UNREACHABLE, "delivery_failed"),
        ("unreachable", EventKind.REFUSED, "delivery_failed"),
    ],
)
def test_unreachable_needs_every_channel_to_agree(
    first: str, second: EventKind, error: str
) -> None:
    one, before, its = tried(state="submitting")
    before.error_class = first

    happen(second, one, its)

    assert (one.state, one.error) == ("failed", error)


def test_last_error_of_a_channel_counts() -> None:
    earlier = attempt(n=1, state="failed", error_class="retry")
    last = attempt(n=2, state="failed", error_class="unreachable")
    its = attempt(n=3, hold=2)
    one = message(tries=3, hold=2, attempts=[earlier, last, its])

    happen(EventKind.UNREACHABLE, one, its)

    assert one.error == "recipient_unreachable"


def test_tries_are_counted_by_channel() -> None:
    its = attempt(n=9, hold=2)
    one = message(tries=9, hold=2, attempts=[attempt(n=8, state="failed"), its])

    happen(EventKind.RETRY, one, its)

    assert (one.state, one.due_in is not None) == ("queued", True)


@pytest.mark.parametrize("what", sorted(set(EventKind) - {EventKind.DELIVERED, EventKind.READ}))
@pytest.mark.parametrize("state", ["failed", "expired"])
def test_event_of_an_earlier_channel_keeps_the_current_one(what: EventKind, state: str) -> None:
    one, its = moved()
    its.state = state

    happen(what, one, its)

    assert (one.state, one.due_in, one.settlements, one.changed) == ("sent", 0.0, [], False)


@pytest.mark.parametrize(
    ("proof", "why"),
    [
        (DeliveryProof.RECEIPT, FallbackReason.LATE),
        (DeliveryProof.CODE_ENTERED, FallbackReason.CODE_ENTERED),
        (DeliveryProof.CLICK, FallbackReason.CLICK),
    ],
)
def test_late_proof_cancels_the_next_attempt_without_a_charge(
    proof: DeliveryProof, why: FallbackReason
) -> None:
    one, its = moved()

    happen(EventKind.DELIVERED, one, its, proof=proof, at=AT)

    assert (one.state, one.channel, one.price, one.due_in) == ("delivered", "whatsapp", 1, None)
    assert [(s.kind, s.hold, s.amount) for s in one.settlements] == [(TransferKind.RELEASE, 2, 16)]
    assert (one.fallback_events, one.is_owed) == ([(why, "sms")], False)


@pytest.mark.parametrize("state", ["submitting", "ambiguous", "sent"])
def test_late_proof_keeps_an_attempt_that_a_vendor_has(state: str) -> None:
    one, first, _second = tried(state=state)

    happen(EventKind.DELIVERED, one, first)

    assert (one.state, one.is_owed, one.settlements) == ("delivered", True, [])
    assert (one.channel, one.price, one.fallback_events) == (
        "sms",
        16,
        [(FallbackReason.OWED, "sms")],
    )


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
    one, first, second = tried()
    second.state = "submitting"
    happen(EventKind.DELIVERED, one, first)

    happen(what, one, second)
    happen(what, one, second)

    assert [(s.kind, s.hold, s.amount, s.proof) for s in one.settlements] == [money]
    assert (one.state, one.is_owed, one.due_in) == ("delivered", False, None)


def test_owed_hold_waits_for_the_open_attempt() -> None:
    one, first, second = tried(state="failed")
    third = attempt(n=3, hold=2, state="sent")
    one.tries = 3
    one.attempts.append(third)
    happen(EventKind.DELIVERED, one, first)

    happen(EventKind.EXPIRED, one, second)

    assert (one.is_owed, one.settlements) == (True, [])


def test_read_receipt_of_the_first_attempt_keeps_the_owed_hold() -> None:
    one, first, _second = tried()

    happen(EventKind.DELIVERED, one, first)
    happen(EventKind.READ, one, first, at=AT)

    assert (one.is_owed, one.settlements, one.read_at) == (True, [], AT)


def test_proof_in_the_commit_of_a_refusal_charges() -> None:
    one, its = refused()

    happen(EventKind.DELIVERED, one, its)

    assert (one.fallback_request, one.state, kinds(one)) == (
        None,
        "delivered",
        [(TransferKind.CAPTURE, "receipt", "")],
    )


def in_hand() -> MessageState:
    return message(state="sent", chain=[SMS], attempts=[attempt(state="sent")])


def waiting_for_its_first_try() -> MessageState:
    return message(tries=0, chain=[SMS], due_in=0.0)


@pytest.mark.parametrize("make", [in_hand, waiting_for_its_first_try])
def test_cancelled_fallback_ends_the_chain_but_not_the_message(
    make: Callable[[], MessageState],
) -> None:
    one = make()
    due_in = one.due_in

    fallback_chain.cancel_fallback(one, FallbackReason.CODE_ENTERED)

    assert (one.chain, one.fallback_events) == ([], [(FallbackReason.CODE_ENTERED, "sms")])
    assert (one.state in {"queued", "sent"}, one.due_in, one.settlements) == (True, due_in, [])


def test_cancelled_fallback_ends_an_unclaimed_step() -> None:
    one, _its = moved()

    fallback_chain.cancel_fallback(one, FallbackReason.CLICK)

    assert (one.state, one.due_in, one.fallback_events) == (
        "expired",
        None,
        [(FallbackReason.CLICK, "sms")],
    )
    assert kinds(one) == [(TransferKind.RELEASE, "", "click")]


def test_cancelled_fallback_keeps_open_attempts_and_final_messages() -> None:
    with_vendor, _first, _second = tried()
    over = message(state="delivered", chain=[SMS])

    for one in (with_vendor, over):
        fallback_chain.cancel_fallback(one, FallbackReason.CODE_ENTERED)
        assert (one.changed, one.fallback_events, one.settlements) == (False, [], [])


def test_expiry_after_a_fallback_releases_the_current_hold() -> None:
    one, _its = moved()

    give_up(one)

    assert [(s.hold, s.amount) for s in one.settlements] == [(2, 16)]
