"""The webhook dispatcher: claims due deliveries, calls endpoints, records their responses.

One thread owns the database connection; calls run on a thread pool, outside any transaction. A
claim is committed before its call, so a crash repeats the call instead of losing it: an event is
delivered at least once, always with the same id.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import cache
from queue import Empty, SimpleQueue
from typing import Any
from uuid import UUID

import orjson
import structlog
from django.conf import settings
from django.db import DatabaseError, DataError, IntegrityError, connection, transaction

from accounts.models import Endpoint
from accounts.outbox import events
from accounts.webhooks import endpoints, http_call, sql
from accounts.webhooks.http_call import CallOutcome, ClaimedDelivery
from config.named_rows import fetch_all

log = structlog.get_logger(__name__)

POLL_INTERVAL = 0.5  # seconds between polls of the database without a wake-up
WRITE_BATCH = 64  # at most so many outcomes per commit
WRITE_RETRY_DELAY = 10.0  # seconds until unwritten outcomes are tried again
MAX_CALLS_PER_ENDPOINT = 4  # in parallel: a hanging endpoint must not delay others
MAX_CALLS_PER_COMPANY = 8


class WebhookDispatcher:
    """`run` is the worker's loop; `tick` runs one round for the periodic task."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(settings.WEBHOOK_THREADS, thread_name_prefix="webhook")
        self.inbox: SimpleQueue[CallOutcome] = SimpleQueue()
        self.unwritten: list[CallOutcome] = []
        self.postponed: list[CallOutcome] = []  # postponed until `postponed_until`
        self.postponed_until = 0.0
        self.in_flight: dict[UUID, ClaimedDelivery] = {}  # by delivery
        self.lock = threading.Lock()
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set():
            with self.lock:
                self._run_safely(self.round)
            events.new_deliveries.wait(POLL_INTERVAL)
        self._drain()

    def tick(self) -> None:
        """Run one round unless the loop is in one or stopping."""
        if self.lock.acquire(blocking=False):
            try:
                if not self.stopping.is_set():
                    self._run_safely(self.round)
            finally:
                self.lock.release()

    def stop(self) -> None:
        self.stopping.set()
        events.new_deliveries.set()

    def round(self) -> None:
        events.new_deliveries.clear()  # first: later commits cause another round
        self.record()
        self.claim()

    def record(self) -> None:
        self._collect()
        if time.monotonic() >= self.postponed_until:
            self.unwritten += self.postponed
            self.postponed = []
        while self.unwritten:
            group = self.unwritten[:WRITE_BATCH]
            self._write(group)
            del self.unwritten[: len(group)]

    def _write(self, group: list[CallOutcome]) -> None:
        try:
            record(group)
        except DatabaseError as error:
            if not connection.is_usable():
                raise  # connection lost: write all after reconnecting
            parts = _split(group)
            if len(parts) > 1:
                for part in parts:
                    self._write(part)
            else:
                self._postpone(group, error)

    def _postpone(self, group: list[CallOutcome], error: DatabaseError) -> None:
        """Drop outcomes that the schema rejects: their lease expires and they are called again.
        Postpone those whose rows are locked, so that they do not delay others.
        """
        ids = [str(outcome.claimed.delivery_id) for outcome in group]
        log.error("webhook_not_recorded", deliveries=ids, exc_info=error)
        if not isinstance(error, IntegrityError | DataError):
            self.postponed += group
            self.postponed_until = time.monotonic() + WRITE_RETRY_DELAY

    def claim(self) -> None:
        """Claim at most one delivery per free thread, so every claim is called at once."""
        free = settings.WEBHOOK_THREADS - len(self.in_flight)
        if free <= 0 or self.stopping.is_set():
            return
        for claimed in claim(free, list(self.in_flight.values())):
            self.in_flight[claimed.delivery_id] = claimed
            self.pool.submit(self._call, claimed)

    def _call(self, claimed: ClaimedDelivery) -> None:
        self.inbox.put(http_call.call(claimed))
        events.new_deliveries.set()

    def _collect(self) -> None:
        while True:
            try:
                outcome = self.inbox.get_nowait()
            except Empty:
                return
            self.in_flight.pop(outcome.claimed.delivery_id, None)
            self.unwritten.append(outcome)

    def _run_safely(self, work: Callable[[], None]) -> None:
        """Keep the loop alive after any exception; unwritten outcomes stay in memory."""
        try:
            work()
        except Exception:
            log.exception("webhook_dispatcher_failed")
            connection.close()
            time.sleep(0.2)

    def _drain(self) -> None:
        """On SIGTERM: wait for calls in flight, which time out, and record them."""
        with self.lock:
            self.pool.shutdown(wait=True, cancel_futures=True)
            self.postponed_until = 0.0
            self._run_safely(self.record)
            connection.close()


@cache
def webhook_dispatcher() -> WebhookDispatcher:
    return WebhookDispatcher()


def claim(limit: int, busy: Sequence[ClaimedDelivery] = ()) -> list[ClaimedDelivery]:
    """Claim and commit up to `limit` due deliveries in addition to those in `busy`."""
    params: dict[str, Any] = {
        "deliveries": [claimed.delivery_id for claimed in busy],
        "endpoints": [claimed.endpoint_id for claimed in busy],
        "companies": [claimed.company_id for claimed in busy],
        "share": MAX_CALLS_PER_ENDPOINT,
        "company_share": MAX_CALLS_PER_COMPANY,
        "limit": limit,
        "lease": settings.WEBHOOK_LEASE,
    }
    with connection.cursor() as cursor:
        cursor.execute(sql.ANY_DUE)
        if not cursor.fetchone()[0]:
            return []
        cursor.execute(sql.CLAIM, params)
        return fetch_all(cursor, ClaimedDelivery)


def _split(group: list[CallOutcome]) -> list[list[CallOutcome]]:
    """Split by endpoint; split the outcomes of a single endpoint one by one."""
    parts: dict[UUID, list[CallOutcome]] = defaultdict(list)
    for outcome in group:
        parts[outcome.claimed.endpoint_id].append(outcome)
    return list(parts.values()) if len(parts) > 1 else [[outcome] for outcome in group]


@transaction.atomic
def record(outcomes: Sequence[CallOutcome]) -> None:
    """Store the attempts, update their deliveries, and disable endpoints that keep failing."""
    ids = [outcome.claimed.delivery_id for outcome in outcomes]
    with connection.cursor() as cursor:
        cursor.execute(sql.LOCK_ENDPOINTS, [ids])
        cursor.execute(sql.INSERT_ATTEMPTS, _attempt_columns(outcomes))
        moves: list[list[Any]] = [
            [outcome.claimed.claims for outcome in outcomes],
            [outcome.state.value for outcome in outcomes],
            [outcome.due_in for outcome in outcomes],
        ]
        cursor.execute(sql.UPDATE_DELIVERIES, [ids, *moves])
        round_of: dict[UUID, datetime | None] = dict(cursor.fetchall())
        refused = [outcome for outcome in outcomes if not outcome.is_accepted]
        cursor.execute(sql.MARK_FAILING, [[outcome.claimed.endpoint_id for outcome in refused]])
        accepted = [outcome.claimed.endpoint_id for outcome in outcomes if outcome.is_accepted]
        cursor.execute(sql.MARK_ACCEPTING, [accepted])
    for outcome in refused:
        if outcome.is_last and outcome.claimed.delivery_id in round_of:
            _disable_if_failing(outcome, round_of[outcome.claimed.delivery_id])


def _attempt_columns(outcomes: Sequence[CallOutcome]) -> list[list[object]]:
    return [
        [outcome.claimed.delivery_id for outcome in outcomes],
        [outcome.started_at for outcome in outcomes],
        [outcome.duration_ms for outcome in outcomes],
        [orjson.dumps(outcome.headers).decode() for outcome in outcomes],
        [outcome.status for outcome in outcomes],
        [outcome.answer for outcome in outcomes],
        [outcome.error for outcome in outcomes],
    ]


def _disable_if_failing(outcome: CallOutcome, round_at: object) -> None:
    """Disable an endpoint that answered 410, or that has accepted nothing since the first try of a
    delivery that has now finally failed, about a day ago.
    """
    enabled = Endpoint.objects.filter(pk=outcome.claimed.endpoint_id, disabled_at=None)
    if outcome.status == http_call.GONE:
        endpoints.disable_automatically(enabled, Endpoint.Reason.GONE)
    else:
        silent = enabled.exclude(last_success_at__gt=round_at)
        endpoints.disable_automatically(silent, Endpoint.Reason.FAILING)
