"""The delivery loop: claims due messages, calls providers on threads, records the outcomes.

Provider threads never touch Django. A claim commits the attempt before a provider is called, so a
crash leaves an attempt with an unknown outcome rather than no attempt.
"""

import re
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import redis
import structlog
from django.conf import settings

from billing.wallet.ledger import DeliveryProof
from catalogue.languages import message_languages
from channels import extensions
from channels.deliver.claims import ClaimedMessage, claim
from channels.deliver.heartbeats import HeartbeatWriter
from channels.extensions import CUSTOM_CODE
from channels.lifecycle.state_machine import Event, EventKind, FirstClaim
from channels.outcomes import due_receipts, transitions, unchanged_messages
from channels.providers.base import (
    AmbiguousError,
    BarredError,
    Content,
    DestinationRefusedError,
    HostedProvider,
    Outgoing,
    RefusedError,
    SendError,
    ThrottledError,
    TransientError,
    UnreachableError,
)
from channels.providers.inbound import AccountAlert, AlertKind
from channels.recipients import contacts, vendor_user_ids
from channels.vendor_accounts import availability, circuit_breaker, pauses, registry, vendor_alerts
from channels.vendor_accounts.circuit_breaker import Breakers, Call, Change
from channels.waiting import wakeups
from processes.monitoring import metrics, tracing
from processes.outbox_loop import OutboxLoop, write_in_batches
from storage.redis_client import blocking_call
from storage.store_errors import write_together

log = structlog.get_logger(__name__)

TICK = 1.0  # seconds between database polls without a wake-up
RATE_LIMITED_TICK = 0.1  # seconds between database polls after a rate limit
RATE_LIMITED_FOR = 2.0  # seconds for which the polls are so frequent
BATCH_SIZE = 32
MAX_THREADS_PER_PROVIDER = max(1, settings.DELIVERY_THREADS * 3 // 4)  # of all threads
DEFAULT_THROTTLE_WAIT = 1.0  # seconds, if a throttled account gets no Retry-After
# A call starts only if all of it fits into the lease, with two seconds to spare.
LEASE_MARGIN = 2
START_TIMEOUT = settings.LEASE - sum(settings.PROVIDER_TIMEOUT) - LEASE_MARGIN
# An earlier poll could reach a vendor that is still processing the message and does not know it
# yet.
AMBIGUOUS_POLL_DELAY = sum(settings.PROVIDER_TIMEOUT) + LEASE_MARGIN


class Dispatcher:
    """The delivery loop of every worker, and of each process that hosts an account."""

    def __init__(self, hosted: HostedProvider | None = None) -> None:
        """Serves the accounts that any process may call, or only the one that this one hosts."""
        self.hosted = hosted
        self.threads = hosted.window if hosted else settings.DELIVERY_THREADS
        self.share = self.threads if hosted else MAX_THREADS_PER_PROVIDER
        self.loop = OutboxLoop[Event]("delivery", self.threads)
        self.pending_events: list[Event] = []
        self.in_flight: Counter[str] = Counter()  # running calls by provider
        self.calls: dict[UUID, Call] = {}  # by attempt
        self.breakers = Breakers(settings.MAX_BREAKER_PAUSE)
        self.breaker_changes: list[Change] = []  # not yet written
        self.rate_limited_until = 0.0
        self.heartbeat = HeartbeatWriter(hosted.name if hosted else "delivery")

    def run(self) -> None:
        threading.Thread(target=self._listen, name="wake-listener", daemon=True).start()
        self.loop.run_safely(pauses.ensure_limits)
        self.loop.run(self._round, self.record, self._pause)

    def stop(self) -> None:
        self.loop.stop()

    def wake(self) -> None:
        self.loop.wake()

    def _pause(self) -> float:
        return RATE_LIMITED_TICK if time.monotonic() < self.rate_limited_until else TICK

    def _round(self) -> None:
        self.dispatch()
        details = self.hosted.details() if self.hosted else {}
        self.heartbeat.record({"in_flight": self.in_flight.total(), **details})

    def dispatch(self) -> None:
        """Runs one round: writes outcomes, claims messages, applies receipts, settles proofs.

        Outcomes come first: they free threads and end the waits of senders. Each step is bounded,
        so none delays the others. A step with work left requests a new round.
        """
        self.record()
        self.claim()
        vendor_alerts.record_queued()
        vendor_user_ids.record_queued()
        if due_receipts.apply_stored():
            self.loop.wake()
        for kind in extensions.kinds.values():
            kind.settle()

    def record(self) -> None:
        """Writes the outcomes of ended calls.

        Breakers are written first, so that a message due again at once avoids the same account.
        """
        for event in self.loop.returned():
            self._take(event)
        while self.breaker_changes:
            circuit_breaker.write(self.breaker_changes[0])
            del self.breaker_changes[0]
        write_in_batches(self.pending_events, lambda group: write_together(group, _write, _refuse))

    def _take(self, event: Event) -> None:
        call = self.calls.pop(event.attempt_id)
        self.in_flight[call.provider] -= 1
        self.pending_events.append(event)
        if call.provider in registry.live_providers() and (
            change := self.breakers.record(call, event, time.monotonic())
        ):
            self.breaker_changes.append(change)

    def claim(self) -> None:
        """Claims due messages, and hands each over at once: at most one for each free thread.

        A slow provider gets no more than its share of the threads.
        """
        while not self.loop.stopping.is_set() and (self.hosted is None or self.hosted.is_open):
            busiest = max(self.in_flight.values(), default=0)
            free = self.threads - self.in_flight.total()
            limit = min(free, BATCH_SIZE, max(1, self.share - busiest))
            busy = [name for name, calls in self.in_flight.items() if calls >= self.share]
            started = time.time_ns()
            messages = claim(limit, busy, self.hosted) if limit > 0 else []
            if tracing.is_on():
                _trace_claims(messages, started)
            start_before = time.monotonic() + START_TIMEOUT
            for message in messages:
                self.in_flight[message.provider] += 1
                self.calls[message.attempt_id] = Call(message.provider, message.trips)
                self.loop.call(hand_over, message, start_before)
            is_rate_limited = any(message.is_counted for message in messages)
            if is_rate_limited:
                self.rate_limited_until = time.monotonic() + RATE_LIMITED_FOR
            if len(messages) < max(1, limit) and not is_rate_limited:
                return

    def _listen(self) -> None:
        """Forwards wake-ups from Redis to the loop."""
        wake_list = wakeups.key(self.hosted.name if self.hosted else "")
        while not self.loop.stopping.is_set():
            try:
                if blocking_call("BLPOP", wake_list, 1):
                    # Runs first, so that no wake-up that arrives after the reads of a round is
                    # deleted with the others.
                    blocking_call("DEL", wake_list)
                    self.loop.wake()
            except redis.RedisError:
                time.sleep(TICK)


def _write(group: Sequence[Event]) -> None:
    transitions.commit_events(unchanged_messages.accept_unchanged(group))
    contacts.mark_refused(group)


def _refuse(event: Event, error: Exception) -> None:
    """Logs an outcome that the database refuses."""
    # The lease expires, and a receipt or the deadline decides about the message.
    log.error("outcome_not_saved", attempt=str(event.attempt_id), exc_info=error)


def hand_over(claimed: ClaimedMessage, start_before: float) -> Event:
    """Calls the provider, on a pool thread, and returns the outcome as an event. Never raises."""
    try:
        return _hand_over(claimed, start_before)
    except Exception as error:
        # A bug outside the provider's call. Its text may contain the code, so it is not logged.
        log.error("hand_over_crashed", provider=claimed.provider, error=type(error).__name__)  # noqa: TRY400
        return _event(claimed, EventKind.AMBIGUOUS, code="internal", is_call_result=True)


def _hand_over(claimed: ClaimedMessage, start_before: float) -> Event:
    try:
        message = outgoing(claimed)
    except extensions.WithdrawnError:
        return _event(claimed, EventKind.GIVEN_UP, code="withdrawn")
    except Exception:
        log.exception("message_not_rendered", attempt=str(claimed.attempt_id), kind=claimed.kind)
        return _event(claimed, EventKind.REFUSED, code="internal", detail="not rendered")
    if time.monotonic() > start_before:
        # This process was suspended: a sweep may have expired the lease.
        return _event(claimed, EventKind.RETRY, code="late", detail="the lease ran out")
    return _call_provider(claimed, message)


def _call_provider(claimed: ClaimedMessage, message: Outgoing) -> Event:
    provider = registry.provider(claimed.provider)
    called_at = time.monotonic()
    try:
        accepted = provider.send(message)
    except SendError as error:
        _count_call(claimed, type(error).__name__, called_at)
        if claimed.params.get(CUSTOM_CODE):
            _mask(error, message.code or "")
        return _pollable_if_ambiguous(_failure_event(claimed, error), claimed)
    except Exception as error:
        # The bug leaves the outcome unknown. Its text may contain the code, so it is not logged.
        log.error("provider_crashed", provider=claimed.provider, error=type(error).__name__)  # noqa: TRY400
        _count_call(claimed, "Crash", called_at)
        event = _event(claimed, EventKind.AMBIGUOUS, code="internal", is_call_result=True)
        return _pollable_if_ambiguous(event, claimed)
    _count_call(claimed, "Accepted", called_at)
    if accepted.alert is not None:
        vendor_alerts.enqueue(claimed.provider, accepted.alert)
    vendor_user_ids.enqueue(claimed.provider, claimed.phone, accepted.recipient_id, message.ref)
    is_proved = provider.is_proved_by(message)
    return _event(
        claimed,
        EventKind.DELIVERED if is_proved else EventKind.ACCEPTED,
        provider_id=accepted.provider_id,
        proof=DeliveryProof.HANDED_OVER if is_proved else None,
        pollable=provider.capabilities.pollable,
        is_call_result=True,
        first_claim=_first_claim(claimed),
    )


def _mask(error: SendError, code: str) -> None:
    """Masks a custom code in the error's texts: it may have letters.

    Providers mask the numbers that a vendor echoes.
    """
    for name in ("code", "detail"):
        pattern = re.compile(re.escape(code), re.IGNORECASE)
        setattr(error, name, pattern.sub("***", getattr(error, name)))


def _first_claim(claimed: ClaimedMessage) -> FirstClaim | None:
    if claimed.claim_xid is None:
        return None
    return FirstClaim(claimed.claim_xid, claimed.mode, claimed.channel, claimed.price)


def _event(claimed: ClaimedMessage, kind: EventKind, **fields: Any) -> Event:
    return Event(claimed.message_id, claimed.attempt_id, kind, **fields)


def _pollable_if_ambiguous(event: Event, claimed: ClaimedMessage) -> Event:
    if event.kind is not EventKind.AMBIGUOUS:
        return event
    return with_provider_id(event, claimed.provider, claimed.phone)


def with_provider_id(event: Event, provider: str, phone: str) -> Event:
    """Makes an ambiguous outcome pollable if we chose the message's provider id."""
    provider_id = registry.provider_id_of(provider, event.message_id, phone)
    return (
        replace(event, provider_id=provider_id, poll_in=AMBIGUOUS_POLL_DELAY)
        if provider_id
        else event
    )


def _count_call(claimed: ClaimedMessage, result: str, called_at: float) -> None:
    result = result.removesuffix("Error").lower()
    seconds = time.monotonic() - called_at
    metrics.count_call(claimed.provider, result, seconds)
    if tracing.is_on():
        attributes = {**_trace_attributes(claimed), "kvitok.result": result}
        tracing.record_call(
            claimed.message_id, claimed.attempt_id, seconds, attributes, ok=result == "accepted"
        )


def _trace_claims(messages: list[ClaimedMessage], started: int) -> None:
    for message in messages:
        attributes = _trace_attributes(message)
        tracing.record_claim(message.message_id, message.attempt_id, started, attributes)


def _trace_attributes(claimed: ClaimedMessage) -> dict[str, str | int]:
    return {
        "kvitok.provider": claimed.provider,
        "kvitok.attempt.number": claimed.n,
        "kvitok.kind": claimed.kind,
        "kvitok.mode": claimed.mode,
    }


def outgoing(claimed: ClaimedMessage) -> Outgoing:
    """Renders the message for its provider; the code appears here for the first time."""
    provider = registry.provider(claimed.provider)
    language = message_languages.match(claimed.locale, claimed.params.get("language", ""))
    locale = provider.locale_for(claimed.locale, language)
    rendered = extensions.kinds[claimed.kind].render(
        subject_id=claimed.subject_id,
        params=claimed.params,
        locale=message_languages.match(locale, language),
        channel=provider.channel,
    )
    return Outgoing(
        ref=str(claimed.attempt_id),
        phone=claimed.phone,
        content=Content(claimed.content),
        locale=locale,
        text=rendered.text,
        ttl=claimed.ttl,
        code=rendered.code,
        short_url=rendered.short_url,
        brand=claimed.params.get("brand", ""),
        chat_id=_chat_id(claimed),
        n=claimed.n,
        message_id=str(claimed.message_id),
    )


def _chat_id(claimed: ClaimedMessage) -> int | None:
    if claimed.chat_id is None and settings.BOTS_ASSUME_CONTACT:
        return int(claimed.phone[1:])
    return claimed.chat_id or None


_EVENT_KINDS: list[tuple[type[SendError], EventKind]] = [
    (BarredError, EventKind.BARRED),
    (UnreachableError, EventKind.UNREACHABLE),
    (RefusedError, EventKind.REFUSED),
    (TransientError, EventKind.RETRY),
    (AmbiguousError, EventKind.AMBIGUOUS),
]


def _failure_event(claimed: ClaimedMessage, error: SendError) -> Event:
    log.info(
        "provider_send_failed",
        provider=claimed.provider,
        kind=type(error).__name__,
        code=error.code,
    )
    is_destination_fault = isinstance(error, DestinationRefusedError)
    if is_destination_fault:
        warning = AccountAlert(error.code, error.detail, AlertKind.WARNING)
        vendor_alerts.enqueue(claimed.provider, warning)
    kind = next(
        (kind for error_type, kind in _EVENT_KINDS if isinstance(error, error_type)),
        EventKind.AMBIGUOUS,
    )
    return _event(
        claimed,
        kind,
        code=error.code,
        detail=error.detail,
        retry_after=_retry_after(error),
        is_call_result=True,
        is_account_fault=error.account and not is_destination_fault,
        can_reroute=_can_reroute(claimed, error),
    )


def _retry_after(error: SendError) -> float | None:
    if not isinstance(error, ThrottledError):
        return None
    return DEFAULT_THROTTLE_WAIT if error.retry_after is None else error.retry_after


def _can_reroute(claimed: ClaimedMessage, error: SendError) -> bool:
    """Whether another account may succeed.

    It may after a fault of the account, and for a recipient unknown to Telegram Gateway if a bot
    has the recipient's contact.
    """
    if isinstance(error, UnreachableError):
        return claimed.has_contact_account
    if not error.account:
        return False
    # When the message was claimed, another account may have been at its rate limit or share of
    # threads.
    content = Content(claimed.content)
    return claimed.has_other_account or availability.has_alternative(
        claimed.provider, content, claimed.mode, claimed.phone
    )
