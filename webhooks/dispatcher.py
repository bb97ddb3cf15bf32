"""The webhook dispatcher: claims due deliveries, calls endpoints, records their responses.

A claim is committed before its call, so a crash repeats the call instead of losing it: an event is
delivered at least once, always with the same id.
"""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
import structlog
from django.conf import settings
from django.db import connection, transaction

from processes.outbox_loop import OutboxLoop, write_in_batches
from storage.statements import sql_files
from storage.statements.queries import execute, fetch_tuples, fetch_value, select
from storage.store_errors import is_outage, is_refusal, write_together
from webhooks import endpoints, events, http_call
from webhooks.events import origin_sql
from webhooks.http_call import CallOutcome, ClaimedDelivery

log = structlog.get_logger(__name__)

POLL_INTERVAL = 0.5  # seconds between polls of the database without a wake-up
WRITE_RETRY_DELAY = 10.0  # seconds until unwritten outcomes are tried again
MAX_CALLS_PER_ENDPOINT = 4  # in parallel: a hanging endpoint must not delay others
MAX_CALLS_PER_COMPANY = 8
# Receivers that respond just in time cause no failures, and those of a few companies would occupy
# every thread. Slow companies share half of the threads.
SLOW_AFTER = 2.0  # seconds; a longer call is slow
SLOW_FOR = 600.0  # seconds that a company counts as slow after such a call

BATCH_SIZE = 1000  # deliveries cancelled by a statement
MAX_BATCHES = 20  # statements in a run

_SQL = sql_files.read_several(
    "webhooks/dispatcher.sql",
    delivery_origin=origin_sql("delivery.url"),
    endpoint_origin=origin_sql("endpoint.url"),
)
CLAIM = sql_files.fill(sql_files.read("webhooks/claim.sql"), **_SQL)


class WebhookDispatcher:
    """Delivers events; its loop runs in every worker."""

    def __init__(self) -> None:
        self.loop = OutboxLoop[CallOutcome](
            "webhooks", settings.WEBHOOK_THREADS, events.new_deliveries
        )
        self.unwritten: list[CallOutcome] = []
        self.postponed: list[CallOutcome] = []
        self.postponed_until = 0.0
        self.in_flight: dict[UUID, ClaimedDelivery] = {}  # by delivery
        # Slow company → when it stops counting as slow; the company called longest ago comes first.
        self.slow: dict[int, float] = {}

    def run(self) -> None:
        self.loop.run(self.round, self._record_all, lambda: POLL_INTERVAL)

    def stop(self) -> None:
        self.loop.stop()

    def round(self) -> None:
        self.record()
        self.claim()

    def record(self) -> None:
        for outcome in self.loop.returned():
            self.in_flight.pop(outcome.claimed.delivery_id, None)
            self.unwritten.append(outcome)
            if outcome.duration_ms >= SLOW_AFTER * 1000:
                self.slow[outcome.claimed.company_id] = time.monotonic() + SLOW_FOR
        if time.monotonic() >= self.postponed_until:
            self.unwritten += self.postponed
            self.postponed = []
        write_in_batches(self.unwritten, self._write)

    def _record_all(self) -> None:
        """Records everything before the loop ends, including postponed outcomes."""
        self.postponed_until = 0.0
        self.record()

    def _write(self, group: list[CallOutcome]) -> None:
        write_together(group, record, self._postpone, lambda error: not is_outage(error))

    def _postpone(self, outcome: CallOutcome, error: Exception) -> None:
        """Postpones an outcome whose rows are locked, so that it does not delay others.

        An outcome that the database refuses is dropped: the lease expires, and the delivery is
        called again.
        """
        delivery = str(outcome.claimed.delivery_id)
        log.error("webhook_not_recorded", delivery=delivery, exc_info=error)
        if not is_refusal(error):
            self.postponed.append(outcome)
            self.postponed_until = time.monotonic() + WRITE_RETRY_DELAY

    def claim(self) -> None:
        """Claims due deliveries and calls each at once: at most one per free thread."""
        free = settings.WEBHOOK_THREADS - len(self.in_flight)
        if free <= 0 or self.loop.stopping.is_set():
            return
        now = time.monotonic()
        self.slow = {company: until for company, until in self.slow.items() if until > now}
        for claimed in claim(free, list(self.in_flight.values()), list(self.slow)):
            if claimed.company_id in self.slow:  # now the last in turn
                self.slow[claimed.company_id] = self.slow.pop(claimed.company_id)
            self.in_flight[claimed.delivery_id] = claimed
            self.loop.call(http_call.call, claimed)


def claim(
    limit: int, busy: Sequence[ClaimedDelivery] = (), slow: Sequence[int] = ()
) -> list[ClaimedDelivery]:
    """Claims and commits up to `limit` due deliveries in addition to those in `busy`.

    `slow` lists the slow companies in the order of their turns.
    """
    slow_calls = sum(claimed.company_id in slow for claimed in busy)
    params: dict[str, Any] = {
        "deliveries": [claimed.delivery_id for claimed in busy],
        "endpoints": [claimed.endpoint_id for claimed in busy],
        "companies": [claimed.company_id for claimed in busy],
        "endpoint_limit": MAX_CALLS_PER_ENDPOINT,
        "company_limit": MAX_CALLS_PER_COMPANY,
        "slow": list(slow),
        "slow_limit": settings.WEBHOOK_THREADS // 2 - slow_calls,
        "limit": limit,
        "lease": settings.WEBHOOK_LEASE,
    }
    if not fetch_value(_SQL["any_due"]):
        return []
    return select(ClaimedDelivery, CLAIM, params)


@transaction.atomic
def record(outcomes: Sequence[CallOutcome]) -> None:
    """Stores the attempts, updates their deliveries, and disables endpoints that keep failing."""
    ids = [outcome.claimed.delivery_id for outcome in outcomes]
    urls: dict[UUID, str] = dict(fetch_tuples(_SQL["lock_endpoints"], [ids]))
    execute(_SQL["insert_attempts"], _attempt_columns(outcomes))
    moves: list[list[Any]] = [
        [outcome.claimed.claims for outcome in outcomes],
        [outcome.state.value for outcome in outcomes],
        [outcome.due_in for outcome in outcomes],
    ]
    round_of: dict[UUID, datetime | None] = dict(
        fetch_tuples(_SQL["update_deliveries"], [ids, *moves])
    )
    # A message's own URL says nothing about the endpoint: it may be gone, or always wrong. Nor does
    # a URL that the endpoint had when the call began.
    about_endpoints = [
        outcome
        for outcome in outcomes
        if not outcome.claimed.is_callback
        and outcome.claimed.url == urls.get(outcome.claimed.endpoint_id)
    ]
    refused = [outcome for outcome in about_endpoints if not outcome.is_accepted]
    execute(_SQL["mark_failing"], [[outcome.claimed.endpoint_id for outcome in refused]])
    accepted = [outcome.claimed.endpoint_id for outcome in about_endpoints if outcome.is_accepted]
    execute(_SQL["mark_accepting"], [accepted])
    for outcome in refused:
        if outcome.is_last and outcome.claimed.delivery_id in round_of:
            endpoints.disable_if_failing(
                outcome.claimed.endpoint_id, outcome.status, round_of[outcome.claimed.delivery_id]
            )


def _attempt_columns(outcomes: Sequence[CallOutcome]) -> list[list[object]]:
    return [
        [outcome.claimed.delivery_id for outcome in outcomes],
        [outcome.started_at for outcome in outcomes],
        [outcome.duration_ms for outcome in outcomes],
        [orjson.dumps(outcome.headers).decode() for outcome in outcomes],
        [outcome.status for outcome in outcomes],
        [outcome.response for outcome in outcomes],
        [outcome.error for outcome in outcomes],
    ]


def cancel_undeliverable() -> int:
    """Fails pending deliveries to disabled and deleted endpoints; they can be replayed later.

    Works in small batches, because a backlog may be of any size.
    """
    total = 0
    for _batch in range(MAX_BATCHES):
        with connection.cursor() as cursor:
            cursor.execute(_SQL["cancel_undeliverable"], [BATCH_SIZE])
            total += cursor.rowcount
            if cursor.rowcount < BATCH_SIZE:
                break
    return total
