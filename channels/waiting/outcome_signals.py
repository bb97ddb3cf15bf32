"""Lets a send wait for its first outcome without a database connection, and answers its sender.

One subscription per process feeds a dict of events. The slots are bounded (a bulkhead), so that a
slow vendor cannot take the threads that verify needs.
"""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import orjson
import redis
import structlog
from django.conf import settings
from django.db.models import F
from redis.client import PubSub

from catalogue.errors import AfterEffectError, Error
from catalogue.ids import public_id
from channels.models import Message
from channels.recipients import contacts
from channels.vendor_accounts import registry
from storage.redis_client import blocking_redis_client, call, raise_if_demoted

log = structlog.get_logger(__name__)
PUBSUB_CHANNEL = "outcomes"  # the pub/sub channel
RECONNECT_DELAY = 1.0
FIRST_CONNECT_TIMEOUT = 0.3  # seconds the first send of a process waits for the subscription
PING_INTERVAL, SILENCE_TIMEOUT = 0.5, 1.5  # seconds: a Redis that hangs keeps its connections open


@dataclass(frozen=True, slots=True)
class Signal:
    """The outcome of a message, published to the process whose send waits for it."""

    message_id: UUID
    state: str
    channel: str
    error: str
    cost: int | None = None  # None: the price at acceptance


class Waiter:
    def __init__(self) -> None:
        self.event = threading.Event()
        self.signal: Signal | None = None

    def wait(self, seconds: float) -> Signal | None:
        self.event.wait(seconds)
        return self.signal


_waiters: dict[UUID, Waiter] = {}
_slots = threading.BoundedSemaphore(settings.SEND_WAITERS)
_listener_pid, _started_at = 0, 0.0
_start = threading.Lock()
_connected = threading.Event()


@contextmanager
def waiter(message_id: UUID) -> Iterator[Waiter | None]:
    """Registers a waiter; enter before the commit, so that no signal comes too early.

    Yields None if no slot is free or no signal could arrive: then answer `queued` at once.
    """
    if not _is_listening() or not _slots.acquire(blocking=False):
        yield None
        return
    registered = _waiters[message_id] = Waiter()
    try:
        yield registered
    finally:
        _waiters.pop(message_id, None)
        _slots.release()


def details() -> dict[str, int]:
    """The details for the heartbeat; a process listens from its first send on."""
    values = {"waiters": len(_waiters)}
    if _listener_pid == os.getpid():
        values["listening"] = int(_connected.is_set())
    return values


def publish(signals: Sequence[Signal]) -> None:
    """Publishes a batch to the waiting sends; a lost signal is read from the database."""
    payload = [[s.message_id.hex, s.state, s.channel, s.error, s.cost] for s in signals]
    try:
        call("PUBLISH", PUBSUB_CHANNEL, orjson.dumps(payload))
    except redis.RedisError as error:
        log.warning("outcome_signal_lost", error=type(error).__name__, messages=len(signals))


def _is_listening() -> bool:
    global _listener_pid, _started_at  # noqa: PLW0603 - one listener per process
    if _listener_pid == os.getpid():
        is_new = time.monotonic() - _started_at < FIRST_CONNECT_TIMEOUT
        return _connected.wait(FIRST_CONNECT_TIMEOUT) if is_new else _connected.is_set()
    with _start:
        if _listener_pid != os.getpid():
            _connected.clear()
            _started_at = time.monotonic()
            threading.Thread(target=_listen_forever, name="outcome-listener", daemon=True).start()
            _listener_pid = os.getpid()
    return _connected.wait(FIRST_CONNECT_TIMEOUT)


def _listen_forever() -> None:
    while True:
        try:
            _listen()
        except Exception as error:  # the thread's edge: it must survive any error
            log.warning("outcome_listener_lost", error=type(error).__name__)
        _connected.clear()
        _wake_all()
        time.sleep(RECONNECT_DELAY)


def _listen() -> None:
    """Runs until Redis is gone, a replica, or silent for SILENCE_TIMEOUT seconds; then raises."""
    with PubSub(blocking_redis_client().connection_pool) as subscription:
        subscription.subscribe(PUBSUB_CHANNEL)
        last_message_at = time.monotonic()
        while True:
            message = subscription.get_message(timeout=PING_INTERVAL)
            if message is not None:
                last_message_at = time.monotonic()
                _connected.set()
                if message["type"] == "message":
                    _deliver(message["data"])
            elif time.monotonic() - last_message_at > SILENCE_TIMEOUT:
                raise TimeoutError
            else:
                raise_if_demoted()
                subscription.ping()


def _wake_all() -> None:
    """No signal can arrive now: each waiter reads its row instead."""
    for waiting in list(_waiters.values()):
        waiting.event.set()


def _deliver(payload: bytes) -> None:
    for message_id, *fields in orjson.loads(payload):
        waiting = _waiters.get(UUID(hex=message_id))
        if waiting is not None:
            waiting.signal = Signal(UUID(hex=message_id), *fields)
            waiting.event.set()


CALL_GRACE = 2.0  # seconds past SEND_WAIT after which an unanswered call must have died


@dataclass(frozen=True, slots=True)
class SendOutcome:
    """The outcome of a send as reported to its sender."""

    message_id: UUID
    phone: str
    channel: str
    state: str
    cost: int
    is_test: bool

    @classmethod
    def of(cls, message: Message) -> "SendOutcome":
        is_test = message.mode == "test"
        return cls(
            message.pk, message.phone, message.channel, message.state, message.price, is_test
        )


def first_outcome(accepted: SendOutcome, signal: Signal | None) -> SendOutcome:
    """The first outcome of an accepted send; raises AfterEffectError if that is a failure.

    Read from the database without a signal: it may be lost.
    """
    outcome = signal or _read(accepted.message_id)
    channel = outcome.channel or accepted.channel
    raise_if_failed(accepted.message_id, outcome.state, channel, outcome.error)
    cost = accepted.cost if outcome.cost is None else outcome.cost
    return replace(accepted, channel=channel, state=outcome.state, cost=cost)


def _read(message_id: UUID) -> Signal:
    rows = Message.objects.filter(pk=message_id)
    row = rows.values("state", "channel", "error", cost=F("price")).first()
    return Signal(message_id, **(row or {"state": "queued", "channel": "", "error": ""}))


def raise_if_failed(message_id: UUID, state: str, channel: str, error: str) -> None:
    """Turns a failure during the wait into an error of the call."""
    if state not in {"failed", "expired"}:
        return
    fields: dict[str, Any] = {"id": public_id("msg", message_id), "channel": channel}
    if error != "recipient_unreachable":
        raise AfterEffectError(Error.DELIVERY_FAILED, **fields)
    has_bot = registry.needs_contact(channel)
    invitation = contacts.error_fields(message_id) if has_bot else {}
    raise AfterEffectError(Error.RECIPIENT_UNREACHABLE, **fields, **invitation)


def is_answer_known(message: Message) -> bool:
    """Whether the call that created this message has its answer, or ended without one."""
    age = time.time() - message.created_at.timestamp()
    return message.state != "queued" or age > settings.SEND_WAIT + CALL_GRACE
