"""When an account is left alone for a while. Pure: no database, no clock of its own.

One that says that it is itself at fault (a dead token, an empty balance, too many calls) is left
alone at once; one of whose calls half come to nothing, or half go where it may not send, as soon as
that is seen. After the pause one
message probes it. Each process counts the calls it made itself; what it decides holds for all.
"""

import random
from collections import deque
from dataclasses import dataclass
from enum import StrEnum

from channels.lifecycle.state_machine import Event, EventKind

WINDOW = 30.0  # seconds
MIN_CALLS, MAX_CALLS = 20, 1000  # judged by, within the window
MAX_DOUBLINGS = 8  # doublings of the pause at most
JITTER = 0.25


class Cause(StrEnum):
    REFUSED = "refused"  # the account, by the vendor
    THROTTLED = "throttled"
    ERRORS = "errors"  # half of the calls were not taken, or not answered


INITIAL_PAUSES = {
    Cause.REFUSED: 300.0,
    Cause.THROTTLED: 1.0,
    Cause.ERRORS: 5.0,
}  # seconds, the first time


@dataclass(frozen=True, slots=True)
class Call:
    """What the decision needs of a call: whom, and whether it probed a breaker that was open."""

    provider: str
    trips: int | None = None  # how often that one had opened; None: this was no probe

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
    """The probe was not made: another message may."""

    call: Call


Change = Trip | Close | Release


def trip_on_alert(provider: str, reason: str, longest: float) -> Trip:
    """The vendor says unasked that the account is at fault."""
    said = reason.replace("\0", "")[:200]
    return Trip(Call(provider), Cause.REFUSED, said, min(INITIAL_PAUSES[Cause.REFUSED], longest))


class Breakers:
    """What the calls of this process came to lately, by account."""

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self._calls: dict[str, deque[tuple[float, bool]]] = {}

    def judge(self, call: Call, event: Event, now: float) -> Change | None:
        """What this outcome changes; `now` in seconds of a steady clock."""
        if not event.is_called:
            return Release(call) if call.is_probe else None
        cause = self._cause(call, event, now)
        if cause is None and not call.is_probe:
            return None
        self._calls.pop(call.provider, None)
        if cause is None:
            return Close(call)
        return Trip(call, cause, _reason(event), self._pause(call, cause, event))

    def _cause(self, call: Call, event: Event, now: float) -> Cause | None:
        if event.account and event.what is EventKind.REFUSED:
            return Cause.REFUSED
        if event.account and event.retry_after is not None:
            return Cause.THROTTLED
        is_error = event.what in {EventKind.RETRY, EventKind.AMBIGUOUS}
        if call.is_probe:
            return Cause.ERRORS if is_error else None
        is_error = is_error or event.destination
        return Cause.ERRORS if self._is_failing(call.provider, now, is_error=is_error) else None

    def _is_failing(self, provider: str, now: float, *, is_error: bool) -> bool:
        calls = self._calls.setdefault(provider, deque(maxlen=MAX_CALLS))
        calls.append((now, is_error))
        while calls[0][0] < now - WINDOW:
            calls.popleft()
        errors = sum(one for _, one in calls) if is_error else 0
        return len(calls) >= MIN_CALLS and 2 * errors >= len(calls)

    def _pause(self, call: Call, cause: Cause, event: Event) -> float:
        first = max(INITIAL_PAUSES[cause], event.retry_after or 0.0)
        grown = first * float(2 ** min(call.trips or 0, MAX_DOUBLINGS))
        jitter = random.uniform(1, 1 + JITTER)  # noqa: S311 - no secret
        return min(grown, self._longest) * jitter


def _reason(event: Event) -> str:
    words = f"{event.code}: {event.detail}" if event.detail else event.code or event.what
    return words.replace("\0", "")[:200]
