"""Decides when an account's circuit breaker opens and closes. Pure: no database, no clock.

It opens at once when the vendor says that the account is at fault (a dead token, an empty balance,
too many calls), and when half of the recent calls fail or go where the account may not send. After
the pause one message probes it (half-open). Each process counts its own calls; its decision holds
for all.
"""

import random
from collections import deque
from dataclasses import dataclass
from enum import StrEnum

from channels.lifecycle.state_machine import Event, EventKind

WINDOW = 30.0  # seconds
MIN_CALLS, MAX_CALLS = 20, 1000  # within the window: fewer decide nothing, more are not kept
MAX_DOUBLINGS = 8  # of the pause
JITTER = 0.25


class Cause(StrEnum):
    REFUSED = "refused"  # the vendor refuses the account
    THROTTLED = "throttled"
    ERRORS = "errors"  # half of the calls were refused or unanswered


# Seconds, for the first trip.
INITIAL_PAUSES = {
    Cause.REFUSED: 300.0,
    Cause.THROTTLED: 1.0,
    Cause.ERRORS: 5.0,
}


@dataclass(frozen=True, slots=True)
class Call:
    """A call to a provider, and whether it probed an open breaker."""

    provider: str
    trips: int | None = None  # trips of the probed breaker; None: this call is no probe

    @property
    def is_probe(self) -> bool:
        return self.trips is not None


@dataclass(frozen=True, slots=True)
class Trip:
    call: Call
    cause: Cause
    reason: str
    pause: float  # seconds


@dataclass(frozen=True, slots=True)
class Close:
    call: Call


@dataclass(frozen=True, slots=True)
class Release:
    """The probe was not sent: another message may probe."""

    call: Call


Change = Trip | Close | Release


def trip_on_alert(provider: str, reason: str, max_pause: float) -> Trip:
    """Opens the breaker because the vendor's alert says that the account is at fault."""
    text = reason.replace("\0", "")[:200]
    return Trip(Call(provider), Cause.REFUSED, text, min(INITIAL_PAUSES[Cause.REFUSED], max_pause))


class Breakers:
    """The recent results of this process's calls, by account."""

    def __init__(self, max_pause: float) -> None:
        self._max_pause = max_pause
        self._calls: dict[str, deque[tuple[float, bool]]] = {}

    def record(self, call: Call, event: Event, now: float) -> Change | None:
        """Records a call's result and returns its change of the breaker; `now` is monotonic."""
        if not event.is_call_result:
            return Release(call) if call.is_probe else None
        cause = self._cause(call, event, now)
        if cause is None and not call.is_probe:
            return None
        self._calls.pop(call.provider, None)
        if cause is None:
            return Close(call)
        return Trip(call, cause, _reason(event), self._pause(call, cause, event))

    def _cause(self, call: Call, event: Event, now: float) -> Cause | None:
        if event.is_account_fault and event.kind is EventKind.REFUSED:
            return Cause.REFUSED
        if event.is_account_fault and event.retry_after is not None:
            return Cause.THROTTLED
        is_error = event.kind in {EventKind.RETRY, EventKind.AMBIGUOUS}
        if call.is_probe:
            return Cause.ERRORS if is_error else None
        is_error = is_error or event.is_destination_fault
        return Cause.ERRORS if self._is_failing(call.provider, now, is_error=is_error) else None

    def _is_failing(self, provider: str, now: float, *, is_error: bool) -> bool:
        calls = self._calls.setdefault(provider, deque(maxlen=MAX_CALLS))
        calls.append((now, is_error))
        while calls[0][0] < now - WINDOW:
            calls.popleft()
        errors = sum(failed for _, failed in calls) if is_error else 0
        return len(calls) >= MIN_CALLS and 2 * errors >= len(calls)

    def _pause(self, call: Call, cause: Cause, event: Event) -> float:
        first = max(INITIAL_PAUSES[cause], event.retry_after or 0.0)
        grown = first * float(2 ** min(call.trips or 0, MAX_DOUBLINGS))
        jitter = random.uniform(1, 1 + JITTER)  # noqa: S311 - no secret
        return min(grown, self._max_pause) * jitter


def _reason(event: Event) -> str:
    text = f"{event.code}: {event.detail}" if event.detail else event.code or event.kind
    return text.replace("\0", "")[:200]
