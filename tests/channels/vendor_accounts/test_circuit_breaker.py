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

ONE, PROBE = Call("twilio"), Call("twilio", trips=2)
MAX_PAUSE = 3600.0


def event(what: EventKind, **fields: object) -> Event:
    return Event(uuid4(), uuid4(), what, **{"is_call_result": True, "code": "x"} | fields)  # type: ignore[arg-type]


REFUSED = event(EventKind.REFUSED, is_account_fault=True, code="20003", detail="Authenticate")
THROTTLED = event(EventKind.RETRY, is_account_fault=True, retry_after=7.0)
TAKEN, LOST = event(EventKind.ACCEPTED), event(EventKind.AMBIGUOUS)


@pytest.fixture
def breakers() -> Breakers:
    return Breakers(MAX_PAUSE)


def trip(breakers: Breakers, call: Call, happened: Event, now: float = 0.0) -> Trip:
    change = breakers.record(call, happened, now)
    assert isinstance(change, Trip)
    return change


@pytest.mark.parametrize("kind", [EventKind.REFUSED, EventKind.UNREACHABLE, EventKind.BARRED])
def test_what_concerns_one_message_never_opens_the_breaker(
    breakers: Breakers, kind: EventKind
) -> None:
    changes = {breakers.record(ONE, event(kind), 0.0) for _ in range(2 * MIN_CALLS)}

    assert changes == {None}


def test_refused_account_opens_the_breaker_at_once(breakers: Breakers) -> None:
    change = trip(breakers, ONE, REFUSED)

    assert (change.cause, change.reason) == (Cause.REFUSED, "20003: Authenticate")
    assert 300 <= change.pause <= 300 * (1 + JITTER)


def test_throttled_account_pauses_for_retry_after(breakers: Breakers) -> None:
    change = trip(breakers, ONE, THROTTLED)

    assert change.cause is Cause.THROTTLED
    assert 7 <= change.pause <= 7 * (1 + JITTER)


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
    assert {breakers.record(ONE, item, 0.0) for item in happened} == {None}


def test_calls_outside_the_window_do_not_count(breakers: Breakers) -> None:
    for n in range(40):
        assert breakers.record(ONE, LOST, n * (WINDOW / 10)) is None


def test_accounts_are_counted_separately(breakers: Breakers) -> None:
    for _ in range(19):
        breakers.record(ONE, LOST, 0.0)

    assert breakers.record(Call("twilio:kz"), LOST, 0.0) is None


def test_call_that_was_not_made_does_not_count(breakers: Breakers) -> None:
    late = Event(uuid4(), uuid4(), EventKind.RETRY, code="late")

    assert [breakers.record(ONE, late, 0.0) for _ in range(40)] == [None] * 40


@pytest.mark.parametrize(
    ("happened", "change"),
    [
        *(
            (item, Close)
            for item in (TAKEN, event(EventKind.UNREACHABLE), event(EventKind.REFUSED))
        ),
        (Event(uuid4(), uuid4(), EventKind.RETRY), Release),  # it was not sent
    ],
)
def test_probe_closes_the_breaker_or_is_free_again(
    breakers: Breakers, happened: Event, change: type[Close | Release]
) -> None:
    assert breakers.record(PROBE, happened, 0.0) == change(PROBE)


@pytest.mark.parametrize("happened", [LOST, event(EventKind.RETRY)])
def test_failed_probe_reopens_the_breaker_for_longer(breakers: Breakers, happened: Event) -> None:
    change = trip(breakers, PROBE, happened)

    assert change.cause is Cause.ERRORS
    assert 20 <= change.pause <= 20 * (1 + JITTER)


def test_pause_is_bounded(breakers: Breakers) -> None:
    change = trip(breakers, Call("twilio", trips=1000), REFUSED)

    assert MAX_PAUSE <= change.pause <= MAX_PAUSE * (1 + JITTER)


def test_closed_breaker_resets_its_counts(breakers: Breakers) -> None:
    for _ in range(19):
        breakers.record(ONE, LOST, 0.0)
    breakers.record(PROBE, TAKEN, 0.0)

    assert breakers.record(ONE, LOST, 0.0) is None
