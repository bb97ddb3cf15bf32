"""The webhook dispatcher: claims due deliveries, calls endpoints, records their responses.

One thread owns the database connection; calls are made on others, outside any transaction. A
claim is committed before its call, so that a crash repeats a call rather than losing one: an
event comes at least once, always under the same id.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
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

log = structlog.get_logger(__name__)

POLL_INTERVAL = 0.5  # seconds between looks at the database when nobody calls
WRITE_BATCH = 64  # outcomes written in one commit at most
WRITE_RETRY_DELAY = 10.0  # seconds before what could not be written is tried again
MAX_CALLS_PER_ENDPOINT = (
    4  # calls at once of one endpoint: one that hangs keeps nobody else waiting
)
MAX_CALLS_PER_COMPANY = 8  # and of one company


class WebhookDispatcher:
    """`run` is the worker's loop; `tick` one round, for the safety net."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(settings.WEBHOOK_THREADS, thread_name_prefix="webhook")
        self.inbox: SimpleQueue[CallOutcome] = SimpleQueue()
        self.unwritten: list[CallOutcome] = []
        self.aside: list[CallOutcome] = []  # not written for a while, until
        self.aside_until = 0.0
        self.in_flight: dict[UUID, ClaimedDelivery] = {}  # by delivery
        self.lock = threading.Lock()
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set():
            with self.lock:
                self._guarded(self.round)
            events.new_deliveries.wait(POLL_INTERVAL)
        self._drain()

    def tick(self) -> None:
        """Unless the loop is in a round, or on its way out."""
        if self.lock.acquire(blocking=False):
            try:
                if not self.stopping.is_set():
                    self._guarded(self.round)
            finally:
                self.lock.release()

    def stop(self) -> None:
        self.stopping.set()
        events.new_deliveries.set()

    def round(self) -> None:
        events.new_deliveries.clear()  # first: what comes from now on asks for another round
        self.record()
        self.claim()

    def record(self) -> None:
        self._take_all()
        if time.monotonic() >= self.aside_until:
            self.unwritten += self.aside
            self.aside = []
        while self.unwritten:
            group = self.unwritten[:WRITE_BATCH]
            self._write(group)
            del self.unwritten[: len(group)]

    def _write(self, group: list[CallOutcome]) -> None:
        try:
            record(group)
        except DatabaseError as error:
            if not connection.is_usable():
                raise  # of the database as such: all of it is written when there is one again
            parts = _split(group)
            if len(parts) > 1:
                for part in parts:
                    self._write(part)
            else:
                self._set_aside(group, error)

    def _set_aside(self, group: list[CallOutcome], error: DatabaseError) -> None:
        """What its rows refuse is dropped: the lease runs out, and it is called again. What they
        were too busy for comes a while later, so that nobody else waits with it.
        """
        ids = [str(one.claimed.delivery_id) for one in group]
        log.error("webhook_not_recorded", deliveries=ids, exc_info=error)
        if not isinstance(error, IntegrityError | DataError):
            self.aside += group
            self.aside_until = time.monotonic() + WRITE_RETRY_DELAY

    def claim(self) -> None:
        """Never more than there are free threads: what is claimed is called at once."""
        free = settings.WEBHOOK_THREADS - len(self.in_flight)
        if free <= 0 or self.stopping.is_set():
            return
        for claimed in claim(free, list(self.in_flight.values())):
            self.in_flight[claimed.delivery_id] = claimed
            self.pool.submit(self._call, claimed)

    def _call(self, claimed: ClaimedDelivery) -> None:
        self.inbox.put(http_call.call(claimed))
        events.new_deliveries.set()

    def _take_all(self) -> None:
        while True:
            try:
                outcome = self.inbox.get_nowait()
            except Empty:
                return
            self.in_flight.pop(outcome.claimed.delivery_id, None)
            self.unwritten.append(outcome)

    def _guarded(self, work: Callable[[], None]) -> None:
        """The thread's edge: whatever happens, the loop goes on and nothing is forgotten."""
        try:
            work()
        except Exception:
            log.exception("webhook_dispatcher_failed")
            connection.close()
            time.sleep(0.2)

    def _drain(self) -> None:
        """On SIGTERM: calls under way end within their time-out, and are recorded."""
        with self.lock:
            self.pool.shutdown(wait=True, cancel_futures=True)
            self.aside_until = 0.0
            self._guarded(self.record)
            connection.close()


@cache
def webhook_dispatcher() -> WebhookDispatcher:
    return WebhookDispatcher()


def claim(limit: int, busy: Sequence[ClaimedDelivery] = ()) -> list[ClaimedDelivery]:
    """Take up to `limit` due deliveries, beside those in `busy`; committed when this returns."""
    params: dict[str, Any] = {
        "deliveries": [one.delivery_id for one in busy],
        "endpoints": [one.endpoint_id for one in busy],
        "companies": [one.company_id for one in busy],
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
        return [ClaimedDelivery(*row) for row in cursor.fetchall()]


def _split(group: list[CallOutcome]) -> list[list[CallOutcome]]:
    """By endpoint, and what is of one endpoint each alone."""
    parts: dict[UUID, list[CallOutcome]] = defaultdict(list)
    for one in group:
        parts[one.claimed.endpoint_id].append(one)
    return list(parts.values()) if len(parts) > 1 else [[one] for one in group]


@transaction.atomic
def record(outcomes: Sequence[CallOutcome]) -> None:
    """Log the attempts, move their deliveries on, and judge the endpoints by them."""
    ids = [one.claimed.delivery_id for one in outcomes]
    with connection.cursor() as cursor:
        cursor.execute(sql.LOCK_ENDPOINTS, [ids])
        cursor.execute(sql.INSERT_ATTEMPTS, _attempt_columns(outcomes))
        moves: list[list[Any]] = [
            [one.claimed.claims for one in outcomes],
            [one.state.value for one in outcomes],
            [one.due_in for one in outcomes],
        ]
        cursor.execute(sql.UPDATE_DELIVERIES, [ids, *moves])
        round_of = {row[1]: row[2] for row in cursor.fetchall()}
        refused = [one for one in outcomes if not one.is_accepted]
        cursor.execute(sql.MARK_FAILING, [[one.claimed.endpoint_id for one in refused]])
        accepted = [one.claimed.endpoint_id for one in outcomes if one.is_accepted]
        cursor.execute(sql.MARK_ACCEPTING, [accepted])
    for one in refused:
        if one.is_last and one.claimed.delivery_id in round_of:
            _disable_if_failing(one, round_of[one.claimed.delivery_id])


def _attempt_columns(outcomes: Sequence[CallOutcome]) -> list[list[object]]:
    return [
        [one.claimed.delivery_id for one in outcomes],
        [one.started_at for one in outcomes],
        [one.duration_ms for one in outcomes],
        [orjson.dumps(one.headers).decode() for one in outcomes],
        [one.status for one in outcomes],
        [one.answer for one in outcomes],
        [one.error for one in outcomes],
    ]


def _disable_if_failing(outcome: CallOutcome, round_at: object) -> None:
    """An endpoint that has accepted nothing since the first try of what now failed for good, a
    day ago, is not called any more; nor is one that asked for that.
    """
    enabled = Endpoint.objects.filter(pk=outcome.claimed.endpoint_id, disabled_at=None)
    if outcome.status == http_call.GONE:
        endpoints.disable_automatically(enabled, Endpoint.Reason.GONE)
    else:
        silent = enabled.exclude(last_success_at__gt=round_at)
        endpoints.disable_automatically(silent, Endpoint.Reason.FAILING)
