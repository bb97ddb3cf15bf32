"""A send waits here, its database connection given back, for its first outcome.

One subscription per process feeds a dict of events. Places are bounded, so that a slow vendor
can never take the threads that verify needs.
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

from config.redis_client import patient_redis, redis_client

log = structlog.get_logger(__name__)
SIGNALS = "outcomes"  # the pub/sub channel
RECONNECT = 1.0
FIRST_CONNECT = 0.3  # seconds the first send of a process waits for the subscription


@dataclass(frozen=True, slots=True)
class Signal:
    """What became of a message, as far as its sender must know."""

    message_id: UUID
    state: str
    channel: str
    error: str


class Waiter:
    def __init__(self) -> None:
        self.event = threading.Event()
        self.signal: Signal | None = None

    def wait(self, seconds: float) -> Signal | None:
        self.event.wait(seconds)
        return self.signal


_waiters: dict[UUID, Waiter] = {}
_places = threading.BoundedSemaphore(settings.SEND_WAITERS)
_listener_pid = 0
_start = threading.Lock()
_connected = threading.Event()


@contextmanager
def waiter(message_id: UUID) -> Iterator[Waiter | None]:
    """Register before the commit, so that no signal is too early.

    None when no place is free or no signal could arrive: the answer is `queued` at once.
    """
    if not _is_listening() or not _places.acquire(blocking=False):
        yield None
        return
    one = _waiters[message_id] = Waiter()
    try:
        yield one
    finally:
        _waiters.pop(message_id, None)
        _places.release()


def publish(signals: Sequence[Signal]) -> None:
    """Tell the senders; one message for a whole group. A lost one is read from the database."""
    payload = [[one.message_id.hex, one.state, one.channel, one.error] for one in signals]
    try:
        redis_client().publish(SIGNALS, orjson.dumps(payload))
    except redis.RedisError as error:
        log.warning("signal_lost", error=type(error).__name__, messages=len(signals))


def _is_listening() -> bool:
    global _listener_pid  # noqa: PLW0603 - one listener per process
    if _listener_pid == os.getpid():
        return _connected.is_set()
    with _start:
        if _listener_pid != os.getpid():
            _connected.clear()
            threading.Thread(target=_run, name="outcome-listener", daemon=True).start()
            _listener_pid = os.getpid()
    return _connected.wait(FIRST_CONNECT)


def _run() -> None:
    while True:
        try:
            with PubSub(
                patient_redis().connection_pool, ignore_subscribe_messages=True
            ) as subscription:
                subscription.subscribe(SIGNALS)
                subscription.check_health()
                _connected.set()
                while True:
                    message = subscription.get_message(timeout=4.0)
                    if message is not None:
                        _deliver(message["data"])
        except (redis.RedisError, OSError) as error:
            log.warning("outcome_listener_lost", error=type(error).__name__)
            _connected.clear()
            _let_go()
            time.sleep(RECONNECT)


def _let_go() -> None:
    """Nobody will be signalled now: each reads its row and answers what it says."""
    for one in list(_waiters.values()):
        one.event.set()


def _deliver(payload: bytes) -> None:
    for message_id, state, channel, error in orjson.loads(payload):
        found = _waiters.get(UUID(hex=message_id))
        if found is not None:
            found.signal = Signal(UUID(hex=message_id), state, channel, error)
            found.event.set()
