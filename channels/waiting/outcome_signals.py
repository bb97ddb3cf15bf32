"""Lets a send wait for its first outcome without a database connection.

One subscription per process feeds a dict of events. The slots are bounded (a bulkhead), so that a
slow vendor cannot take the threads that verify needs.
"""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

import orjson
import redis
import structlog
from django.conf import settings
from redis.client import PubSub

from storage.redis_client import blocking_redis_client, call, raise_if_demoted

log = structlog.get_logger(__name__)
PUBSUB_CHANNEL = "outcomes"  # the pub/sub channel
RECONNECT_DELAY = 1.0
FIRST_CONNECT_TIMEOUT = 0.3  # seconds the first send of a process waits for the subscription
PING_INTERVAL = 0.5  # seconds
# Seconds without a reply after which Redis counts as down: it keeps its connections when it hangs.
SILENCE_TIMEOUT = 1.5
# Slots that a company may hold for each free one, so that its hanging vendor leaves some to others:
# alone it takes three quarters (dynamic thresholds, Choudhury and Hahne, 1998).
SLOTS_PER_FREE_ONE = 3


@dataclass(frozen=True, slots=True)
class Signal:
    """The outcome of a message, published to the process whose send waits for it."""

    message_id: UUID
    state: str
    channel: str
    error: str
    cost: int | None = None  # None: the price at acceptance


class Waiter:
    def __init__(self, company_id: int) -> None:
        self.company_id = company_id
        self.event = threading.Event()
        self.signal: Signal | None = None

    def wait(self, seconds: float) -> Signal | None:
        self.event.wait(seconds)
        return self.signal


_waiters: dict[UUID, Waiter] = {}
_slots = threading.BoundedSemaphore(settings.SEND_WAITERS)
_listener_pid = 0
_started_at = 0.0
_start = threading.Lock()
_connected = threading.Event()


@contextmanager
def waiter(message_id: UUID, company_id: int) -> Iterator[Waiter | None]:
    """Registers a waiter; enter before the commit, so that no signal comes too early.

    Yields None if no slot is free, the company has its share of them, or no signal could arrive:
    then respond `queued` at once.
    """
    if not _is_listening() or _has_share(company_id) or not _slots.acquire(blocking=False):
        yield None
        return
    registered = _waiters[message_id] = Waiter(company_id)
    try:
        yield registered
    finally:
        _waiters.pop(message_id, None)
        _slots.release()


def _has_share(company_id: int) -> bool:
    companies = [registered.company_id for registered in list(_waiters.values())]
    free = settings.SEND_WAITERS - len(companies)
    return companies.count(company_id) > SLOTS_PER_FREE_ONE * free


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
        except Exception as error:  # last handler of the thread, which must survive any error
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
    """Wakes all waiters when no signal can arrive: each reads its row instead."""
    for waiting in list(_waiters.values()):
        waiting.event.set()


def _deliver(payload: bytes) -> None:
    for message_id, *fields in orjson.loads(payload):
        waiting = _waiters.get(UUID(hex=message_id))
        if waiting is not None:
            waiting.signal = Signal(UUID(hex=message_id), *fields)
            waiting.event.set()
