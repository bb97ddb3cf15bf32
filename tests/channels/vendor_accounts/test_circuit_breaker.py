"""The circuit breaker's rules: when it opens, for how long, and what closes it."""

from uuid import uuid4

import pytest

from channels.lifecycle.state_machine import Event, EventKind
from channels.vendor_accounts.circuit_breaker import (
    JITTER,
    MIN_CALLS,
    WINDOW,
    Breakers,
    Call,
    Cause,
    Close,
    Release,
    Trip,
)

ONE = Call("twilio")
PROBE = Call("twilio", trips=2)
MAX_PAUSE = 3600.0


def event(what: EventKind, **fields: object) -> Event:
    return Event(uuid4(), uuid4(), what, **{"is_call_result": True, "code": "x"} | fields)  # type: ignore[arg-type]


REFUSED = event(EventKind.REFUSED, is_account_fault=True, code="20003", detail="Authenticate")
THROTTLED = event(EventKind.RETRY, is_account_fault=True, retry_after=7.0)
TAKEN = event(EventKind.ACCEPTED)
LOST = event(EventKind.AMBIGUOUS)


@pytest.fixture
def breakers() -> Breakers:
    return Breakers(MAX_PAUSE)


def trip(breakers: Breakers, call: Call, happened: Event, now: float = 0.0) -> Trip:
    change = breakers.record(call, happened, now)
    assert isinstance(change, Trip)
    return change


@pytest.mark.parametrize("kind", [EventKind.REFUSED, EventKind.UNREACHABLE, EventKind.BARRED])
def test_refusals_of_single_messages_never_open_the_breaker(
    breakers: Breakers, kind: EventKind
) -> None:
    changes = {breakers.record(ONE, event(kind), 0.0) for _ in range(2 * MIN_CALLS)}

    assert changes == {None}


@pytest.mark.parametrize(
    ("call", "happened", "cause", "pause"),
    [
        (ONE, REFUSED, Cause.REFUSED, 300),
        (ONE, THROTTLED, Cause.THROTTLED, 7),
        (PROBE, LOST, Cause.ERRORS, 20),
        (PROBE, event(EventKind.RETRY), Cause.ERRORS, 20),
        (Call("twilio", trips=1000), REFUSED, Cause.REFUSED, MAX_PAUSE),
    ],
    ids=["refused", "Retry-After", "probe lost", "probe failed", "longest pause"],
)
def test_breaker_opens_at_once_for_a_pause_by_the_cause(
    breakers: Breakers, call: Call, happened: Event, cause: Cause, pause: float
) -> None:
    change = trip(breakers, call, happened)

    assert change.cause is cause
    assert pause <= change.pause <= pause * (1 + JITTER)
    assert cause is not Cause.REFUSED or change.reason == "20003: Authenticate"


@pytest.mark.parametrize(
    "happened",
    [
        event(EventKind.REFUSED),
        event(EventKind.UNREACHABLE),
        event(EventKind.RETRY, retry_after=7.0),
        event(EventKind.RETRY, is_account_fault=True),
        LOST,
        TAKEN,
    ],
)
def test_one_failed_message_keeps_the_breaker_closed(breakers: Breakers, happened: Event) -> None:
    assert breakers.record(ONE, happened, 0.0) is None


def test_half_of_twenty_failed_calls_open_the_breaker(breakers: Breakers) -> None:
    for n in range(10):
        assert breakers.record(ONE, TAKEN, n) is None
        assert n == 9 or breakers.record(ONE, LOST, n) is None

    change = trip(breakers, ONE, LOST, 10.0)

    assert change.cause is Cause.ERRORS
    assert 5 <= change.pause <= 5 * (1 + JITTER)


@pytest.mark.parametrize("happened", [[TAKEN, TAKEN, LOST] * 40, [LOST] * 19])
def test_fewer_than_half_or_than_twenty_do_not(breakers: Breakers, happened: list[Event]) -> None:
    assert {breakers.record(ONE, outcome, 0.0) for outcome in happened} == {None}


def test_calls_outside_the_window_do_not_count(breakers: Breakers) -> None:
    for n in range(40):
        assert breakers.record(ONE, LOST, n * (WINDOW / 10)) is None


@pytest.mark.parametrize(
    ("between", "last"), [([], Call("twilio:kz")), ([(PROBE, TAKEN)], ONE)], ids=["other", "closed"]
)
def test_failures_before_closing_or_elsewhere_do_not_count(
    breakers: Breakers, between: list[tuple[Call, Event]], last: Call
) -> None:
    for call, happened in [(ONE, LOST)] * 19 + between:
        breakers.record(call, happened, 0.0)

    assert breakers.record(last, LOST, 0.0) is None


def test_call_that_was_not_made_does_not_count(breakers: Breakers) -> None:
    late = Event(uuid4(), uuid4(), EventKind.RETRY, code="late")

    assert [breakers.record(ONE, late, 0.0) for _ in range(40)] == [None] * 40


@pytest.mark.parametrize(
    ("happened", "change"),
    [
        *(
            (outcome, Close)
            for outcome in (TAKEN, event(EventKind.UNREACHABLE), event(EventKind.REFUSED))
        ),
        (Event(uuid4(), uuid4(), EventKind.RETRY), Release),  # it was not sent
    ],
)
def test_probe_closes_the_breaker_or_is_free_again(
    breakers: Breakers, happened: Event, change: type[Close | Release]
) -> None:
    assert breakers.record(PROBE, happened, 0.0) == change(PROBE)
