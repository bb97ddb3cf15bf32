"""Circuit breakers: when an account's opens and closes, and their state in the database.

A breaker opens at once if the vendor says that the account is at fault (a dead token, an empty
balance, too many calls), and if half of the recent calls fail. A destination that the account may
not send to is not a failure, however often it is called: one company chooses the destination, but
the breaker affects all companies. After the pause one message probes the account (half-open). Each
process counts its own calls; its decision applies to all processes, and opening a breaker notifies
operators.
"""

import random
from collections import deque
from dataclasses import dataclass
from enum import StrEnum

import structlog
from django.db import connection, transaction
from django.utils.translation import gettext_lazy as _

from channels.lifecycle.state_machine import Event, EventKind
from channels.vendor_accounts import breaker_mail, registry
from processes.monitoring import metrics
from storage.statements import sql_files
from storage.statements.queries import execute

WINDOW = 30.0  # seconds
MIN_CALLS = 20  # within the window; fewer decide nothing
MAX_CALLS = 1000  # that are kept of a window
MAX_DOUBLINGS = 8  # of the pause
JITTER = 0.25  # fraction of the pause


class Cause(StrEnum):
    REFUSED = "refused"  # the vendor refuses the account
    THROTTLED = "throttled"
    ERRORS = "errors"  # half of the calls were refused or unanswered


# Seconds for the first trip.
INITIAL_PAUSES = {Cause.REFUSED: 300.0, Cause.THROTTLED: 1.0, Cause.ERRORS: 5.0}


@dataclass(frozen=True, slots=True)
class Call:
    """A call to a provider, possibly the probe of an open breaker."""

    provider: str
    trips: int | None = None  # trips of the probed breaker; None if the call is no probe

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
    """Releases the probe of a message that was not sent: another message may probe."""

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
        """Records a call's result and returns the change of the breaker; `now` is monotonic."""
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
        return Cause.ERRORS if self._is_failing(call.provider, now, is_error=is_error) else None

    def _is_failing(self, provider: str, now: float, *, is_error: bool) -> bool:
        calls = self._calls.setdefault(provider, deque(maxlen=MAX_CALLS))
        calls.append((now, is_error))
        while calls[0][0] < now - WINDOW:
            calls.popleft()
        errors = sum(failed for _at, failed in calls) if is_error else 0
        return len(calls) >= MIN_CALLS and 2 * errors >= len(calls)

    def _pause(self, call: Call, cause: Cause, event: Event) -> float:
        first = max(INITIAL_PAUSES[cause], event.retry_after or 0.0)
        grown = first * float(2 ** min(call.trips or 0, MAX_DOUBLINGS))
        jitter = random.uniform(1, 1 + JITTER)  # noqa: S311 - no secret
        return min(grown, self._max_pause) * jitter


def _reason(event: Event) -> str:
    text = f"{event.code}: {event.detail}" if event.detail else event.code or event.kind
    return text.replace("\0", "")[:200]


log = structlog.get_logger(__name__)

# Throttling passes by itself, so it notifies nobody.
NOTIFIED_CAUSES = {
    Cause.REFUSED: _("the provider refuses the account"),
    Cause.ERRORS: _("half of the calls fail"),
}

_SQL = sql_files.read_several("channels/vendor_accounts/circuit_breaker.sql")


RELEASE = "UPDATE channels_provideraccount SET probed_at = NULL WHERE name = %s"


def write(change: Change) -> None:
    match change:
        case Trip():
            _trip(change)
        case Close(call):
            close(call.provider)
        case Release(call):
            execute(RELEASE, [call.provider])


def close(provider: str) -> bool:
    """Closes the breaker; False if it was closed already."""
    closed = execute(_SQL["close"], [provider]) > 0
    if closed:
        log.info("breaker_closed", provider=provider)
    return closed


def _trip(change: Trip) -> None:
    name = change.call.provider
    cause = change.cause
    with transaction.atomic(), connection.cursor() as cursor:
        params: dict[str, str | int | float] = {
            "name": name,
            "position": registry.position(name),
            "pause": change.pause,
            "reason": change.reason,
            "is_probe": change.call.is_probe,
        }
        cursor.execute(_SQL["trip"], params)
        opened = cursor.fetchone()
        if opened and cause in NOTIFIED_CAUSES:
            breaker_mail.notify_operators(name, NOTIFIED_CAUSES[cause], change.reason)
    if opened:
        metrics.count_trip(name, cause.value)
        log.warning(
            "breaker_opened",
            provider=name,
            cause=cause.value,
            reason=change.reason,
            seconds=round(change.pause, 1),
            trips=opened[0],
        )
