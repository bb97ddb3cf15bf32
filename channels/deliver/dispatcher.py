"""The delivery loop: claims due messages, has providers called, records what they said.

One thread owns the database connection; provider threads never touch Django. A claim commits
the intent before a provider is called, so that a crash leaves an attempt whose outcome is
unknown rather than one that never was.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from queue import Empty, SimpleQueue
from uuid import UUID

import redis
import structlog
from django.conf import settings
from django.db import DataError, IntegrityError, connection

from billing.wallet.ledger import DeliveryProof
from channels import extensions
from channels.accept import nudge
from channels.deliver.claims import ClaimedMessage, claim
from channels.deliver.heartbeats import HeartbeatWriter
from channels.lifecycle.state_machine import Event, EventKind
from channels.outcomes import apply, receipts
from channels.providers.base import (
    AccountAlert,
    AlertKind,
    AmbiguousError,
    Content,
    DestinationRefusedError,
    Outgoing,
    RefusedError,
    SendError,
    ThrottledError,
    TransientError,
    UnreachableError,
)
from channels.providers.hosted_provider import HostedProvider
from channels.recipients import telegram_contacts
from channels.vendor_accounts import availability, breaker_state, registry, vendor_alerts
from channels.vendor_accounts.circuit_breaker import Breakers, Call, Change
from config import metrics
from config.redis_client import blocking_redis_client

log = structlog.get_logger(__name__)

TICK = 1.0  # seconds between looks at the database when nobody nudges
RATE_LIMITED_TICK, RATE_LIMITED_FOR = (
    0.1,
    2.0,
)  # seconds between looks, and how long, where a rate holds messages back
RECORD_BATCH = 64  # outcomes written in one commit at most
CLAIM_BATCH = 32
MAX_THREADS_PER_PROVIDER = max(
    1, settings.DELIVERY_THREADS * 3 // 4
)  # of the threads, for any one provider
DRAIN_TRIES = 20
DEFAULT_THROTTLE_WAIT = (
    1.0  # seconds to leave alone an account that was too fast and not told how long
)
# A provider is called only while the whole call fits into the lease, with two seconds to spare.
LEASE_MARGIN = 2
START_TIMEOUT = settings.LEASE - sum(settings.PROVIDER_TIMEOUT) - LEASE_MARGIN
# Asked any sooner, a vendor that is still at work would say that it knows no such message.
FIRST_POLL_DELAY = sum(settings.PROVIDER_TIMEOUT) + LEASE_MARGIN


class Dispatcher:
    """`run` is the worker's loop; `dispatch` one bounded round, for the safety tick as well."""

    def __init__(self, hosted: HostedProvider | None = None) -> None:
        """Calls what any process may call, or nothing but the account that this one hosts."""
        self.hosted = hosted
        self.threads = hosted.window if hosted else settings.DELIVERY_THREADS
        self.share = self.threads if hosted else MAX_THREADS_PER_PROVIDER
        self.pool = ThreadPoolExecutor(self.threads, thread_name_prefix="provider")
        self.inbox: SimpleQueue[Event | None] = SimpleQueue()  # None: somebody nudged
        self.unwritten: list[Event] = []
        self.in_flight: Counter[str] = Counter()  # calls under way, by provider
        self.called: dict[UUID, Call] = {}  # by attempt
        self.breakers = Breakers(settings.BREAKER_LONGEST)
        self.changes: list[Change] = []  # of breakers, to be written
        self.paced_until = 0.0
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.heartbeat = HeartbeatWriter(hosted.name if hosted else "delivery")

    def run(self) -> None:
        """Until `stop`: a new worker looks at the database at once, and then whenever there is
        an outcome, a nudge, or nothing for a second.
        """
        threading.Thread(target=self._listen, name="wake-listener", daemon=True).start()
        while not self.stopping.is_set():
            with self.lock:
                self._guarded(self._round)
            self._wait(RATE_LIMITED_TICK if time.monotonic() < self.paced_until else TICK)
        self._drain()

    def _round(self) -> None:
        self.dispatch()
        facts = self.hosted.facts() if self.hosted else {}
        self.heartbeat.beat({"in_flight": self.in_flight.total(), **facts})

    def tick(self) -> None:
        """The beat's safety net: a round, unless the loop is in one or on its way out."""
        if self.lock.acquire(blocking=False):
            try:
                if not self.stopping.is_set():
                    self._take_all()
                    self._guarded(self.dispatch)
            finally:
                self.lock.release()

    def stop(self) -> None:
        self.stopping.set()
        self.wake()

    def wake(self) -> None:
        """Have another look at the database, now."""
        self.inbox.put(None)

    def dispatch(self) -> None:
        """Write outcomes first: they free threads and answer people who wait. Every step is
        bounded, so that none keeps the others waiting; who leaves work asks for another round.
        """
        self.record()
        self.claim()
        vendor_alerts.record_queued()
        if receipts.apply_stored():
            self.inbox.put(None)
        for settle in extensions.settlers():
            settle()

    def record(self) -> None:
        """Breakers first, so that what is due again at once is not due at the same account."""
        while self.changes:
            breaker_state.write(self.changes[0])
            del self.changes[0]
        while self.unwritten:
            group = self.unwritten[:RECORD_BATCH]
            self._write(group)
            del self.unwritten[: len(group)]

    def _write(self, group: list[Event]) -> None:
        try:
            apply.apply(group)
            telegram_contacts.mark_refused(group)
        except (IntegrityError, DataError):
            if len(group) == 1:  # its row refuses it: the lease runs out and the deadline decides
                log.exception("outcome_not_written", attempt=str(group[0].attempt_id))
                return
            for event in group:
                self._write([event])

    def claim(self) -> None:
        """Never more than there are free threads: what is claimed is called at once. A provider
        that answers slowly gets its share of them and no more.
        """
        while not self.stopping.is_set() and (self.hosted is None or self.hosted.is_open):
            busiest = max(self.in_flight.values(), default=0)
            free = self.threads - self.in_flight.total()
            limit = min(free, CLAIM_BATCH, max(1, self.share - busiest))
            full = [name for name, calls in self.in_flight.items() if calls >= self.share]
            rows = claim(limit, full, self.hosted) if limit > 0 else []
            start_before = time.monotonic() + START_TIMEOUT
            for row in rows:
                self.in_flight[row.provider] += 1
                self.called[row.attempt_id] = Call(row.provider, row.trips)
                self.pool.submit(self._hand_over, row, start_before)
            is_cut = any(row.is_counted for row in rows)
            if is_cut:
                self.paced_until = time.monotonic() + RATE_LIMITED_FOR
            if len(rows) < max(1, limit) and not is_cut:
                return

    def _hand_over(self, row: ClaimedMessage, start_before: float) -> None:
        self.inbox.put(hand_over(row, start_before))

    def _wait(self, seconds: float) -> None:
        try:
            event = self.inbox.get(timeout=seconds)
        except Empty:
            return
        with self.lock:
            self._take(event)
            self._take_all()

    def _take_all(self) -> None:
        try:
            while len(self.unwritten) < RECORD_BATCH:
                self._take(self.inbox.get_nowait())
        except Empty:
            return

    def _take(self, event: Event | None) -> None:
        if event is None:
            return
        call = self.called.pop(event.attempt_id)
        self.in_flight[call.provider] -= 1
        self.unwritten.append(event)
        if call.provider in registry.live_providers() and (
            change := self.breakers.record(call, event, time.monotonic())
        ):
            self.changes.append(change)

    def _listen(self) -> None:
        """Turns nudges into entries of the inbox, so that the loop waits for one thing."""
        wake = nudge.key(self.hosted.name if self.hosted else "")
        while not self.stopping.is_set():
            try:
                if blocking_redis_client().blpop([wake], timeout=1):
                    blocking_redis_client().delete(wake)
                    self.inbox.put(None)
            except redis.RedisError:
                time.sleep(TICK)

    def _guarded(self, work: Callable[[], None]) -> None:
        """The process's edge: whatever happens, the loop goes on and nothing is forgotten."""
        try:
            work()
        except Exception:
            log.exception("dispatch_failed")
            connection.close()
            time.sleep(0.2)

    def _drain(self) -> None:
        """On SIGTERM: providers answer within their time-outs, and what they said is written."""
        with self.lock:
            self.pool.shutdown(wait=True)
            for _ in range(DRAIN_TRIES):
                self._take_all()
                self._guarded(self.record)
                if not self.unwritten and self.inbox.empty():
                    break
            connection.close()


@cache
def dispatcher() -> Dispatcher:
    return Dispatcher()


def hand_over(claimed: ClaimedMessage, start_before: float) -> Event:
    """Call the provider, on a thread of its own, and say what happened as an event."""
    try:
        message = outgoing(claimed)
    except Exception:
        log.exception("not_rendered", attempt=str(claimed.attempt_id), kind=claimed.kind)
        return Event(claimed.attempt_id, EventKind.REFUSED, code="internal", detail="not rendered")
    if time.monotonic() > start_before:
        # This process stood still for a while: somebody may have judged the lease already.
        return Event(claimed.attempt_id, EventKind.RETRY, code="late", detail="the lease ran out")
    provider, called_at = registry.provider(claimed.provider), time.monotonic()
    try:
        accepted = provider.send(message)
    except SendError as error:
        _count_call(claimed, type(error).__name__, called_at)
        return _pollable_if_ambiguous(_failure_event(claimed, error), claimed)
    except Exception as error:
        # The thread's edge. A bug leaves the outcome unknown; its text may hold the code.
        log.error("provider_crashed", provider=claimed.provider, error=type(error).__name__)  # noqa: TRY400
        _count_call(claimed, "Crash", called_at)
        event = Event(claimed.attempt_id, EventKind.AMBIGUOUS, code="internal", is_called=True)
        return _pollable_if_ambiguous(event, claimed)
    _count_call(claimed, "Accepted", called_at)
    if accepted.alert is not None:
        vendor_alerts.enqueue(claimed.provider, accepted.alert)
    if provider.is_proved_by(message):
        what, proof = EventKind.DELIVERED, DeliveryProof.HANDED_OVER
    else:
        what, proof = EventKind.ACCEPTED, None
    return Event(
        claimed.attempt_id,
        what,
        accepted.provider_id,
        proof=proof,
        pollable=provider.capabilities.pollable,
        is_called=True,
    )


def _pollable_if_ambiguous(event: Event, claimed: ClaimedMessage) -> Event:
    if event.what is not EventKind.AMBIGUOUS:
        return event
    return with_provider_id(event, claimed.provider, claimed.message_id, claimed.phone)


def with_provider_id(event: Event, provider: str, message_id: UUID, phone: str) -> Event:
    """An unclear outcome that can be asked about, if the message's id was ours to choose."""
    provider_id = registry.provider_id_of(provider, message_id, phone)
    return (
        replace(event, provider_id=provider_id, ask_in=FIRST_POLL_DELAY) if provider_id else event
    )


def _count_call(claimed: ClaimedMessage, result: str, called_at: float) -> None:
    result = result.removesuffix("Error").lower()
    metrics.count_call(claimed.provider, result, time.monotonic() - called_at)


def outgoing(claimed: ClaimedMessage) -> Outgoing:
    """The message as the provider gets it; the code appears here and nowhere before."""
    rendered = extensions.renderer(claimed.kind)(
        subject_id=claimed.subject_id,
        params=claimed.params,
        locale=claimed.locale,
        channel=registry.provider(claimed.provider).channel.value,
    )
    return Outgoing(
        ref=str(claimed.attempt_id),
        phone=claimed.phone,
        content=Content(claimed.content),
        locale=claimed.locale,
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
    if claimed.chat_id is None and settings.TELEGRAM_BOT_ASSUME_CONTACT:
        return int(claimed.phone[1:])
    return claimed.chat_id or None


_EVENT_KINDS: list[tuple[type[SendError], EventKind]] = [
    (UnreachableError, EventKind.UNREACHABLE),
    (RefusedError, EventKind.REFUSED),
    (TransientError, EventKind.RETRY),
    (AmbiguousError, EventKind.AMBIGUOUS),
]


def _failure_event(claimed: ClaimedMessage, error: SendError) -> Event:
    log.info("not_accepted", provider=claimed.provider, kind=type(error).__name__, code=error.code)
    is_local = isinstance(error, DestinationRefusedError)
    if is_local:
        warning = AccountAlert(error.code, error.detail, AlertKind.WARNING)
        vendor_alerts.enqueue(claimed.provider, warning)
    what = next(
        (what for kind, what in _EVENT_KINDS if isinstance(error, kind)), EventKind.AMBIGUOUS
    )
    return Event(
        claimed.attempt_id,
        what,
        code=error.code,
        detail=error.detail,
        retry_after=_retry_after(error),
        is_called=True,
        account=error.account and not is_local,
        destination=is_local,
        elsewhere=_has_other_account(claimed, error),
    )


def _retry_after(error: SendError) -> float | None:
    if not isinstance(error, ThrottledError):
        return None
    return DEFAULT_THROTTLE_WAIT if error.retry_after is None else error.retry_after


def _has_other_account(claimed: ClaimedMessage, error: SendError) -> bool:
    """The account's fault is no other account's; and who is not in Telegram's own directory may
    have let our bot write to them.
    """
    if isinstance(error, UnreachableError):
        return claimed.by_contact
    if not error.account:
        return False
    # At the moment of the claim another may have been at its rate, or at its share of threads.
    content = Content(claimed.content)
    return claimed.elsewhere or availability.has_alternative(
        claimed.provider, content, claimed.mode, claimed.phone
    )
