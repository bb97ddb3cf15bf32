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
from storage.statements.named_rows import fetch_all
from storage.store_errors import is_outage, is_refusal, write_together
from webhooks import endpoints, events, http_call
from webhooks.events import origin_sql
from webhooks.http_call import CallOutcome, ClaimedDelivery
from webhooks.models import Endpoint

log = structlog.get_logger(__name__)

POLL_INTERVAL = 0.5  # seconds between polls of the database without a wake-up
WRITE_RETRY_DELAY = 10.0  # seconds until unwritten outcomes are tried again
MAX_CALLS_PER_ENDPOINT = 4  # in parallel: a hanging endpoint must not delay others
MAX_CALLS_PER_COMPANY = 8
# Receivers that answer just in time fail nothing, and those of a few companies would hold every
# thread. The slow companies share half of the threads.
SLOW_AFTER, SLOW_FOR = 2.0, 600.0  # seconds of a call, and until its company counts as quick again

BATCH, BATCHES = 1000, 20  # deliveries cancelled per statement, statements per run

# Endpoints that may be called.
_CALLABLE_ENDPOINTS = """webhooks_endpoint e JOIN accounts_company c
    ON c.id = e.company_id AND c.status <> 'suspended'
    AND e.disabled_at IS NULL AND e.deleted_at IS NULL"""

# The condition on a delivery `d` of endpoint `e`: it goes to that URL, or to one on its host.
_IS_AT_HOME = f"(d.url = '' OR {origin_sql('d.url')} = {origin_sql('e.url')})"

_PRIORITIES = "(VALUES (0), (1)) AS p(priority)"  # each is a range of the index
# A separate, cheaper check: workers poll often, mostly in vain. Two index look-ups per endpoint.
ANY_DUE = f"""
SELECT EXISTS (
  SELECT 1 FROM {_CALLABLE_ENDPOINTS} CROSS JOIN {_PRIORITIES}
  CROSS JOIN LATERAL (
    SELECT 1 FROM webhooks_delivery
    WHERE endpoint_id = e.id AND priority = p.priority AND due_at <= statement_timestamp()
    LIMIT 1) d)
"""  # noqa: S608

CLAIM = sql_files.fill(
    sql_files.read("webhooks/claim.sql"),
    callable_endpoints=_CALLABLE_ENDPOINTS,
    priorities=_PRIORITIES,
    is_at_home=_IS_AT_HOME,
)

# Lock order everywhere: endpoints by id, then their deliveries.
LOCK_ENDPOINTS = """
SELECT e.id FROM webhooks_endpoint e
WHERE e.id IN (SELECT endpoint_id FROM webhooks_delivery WHERE id = ANY(%s::uuid[]))
ORDER BY e.id FOR NO KEY UPDATE
"""

# Skips deliveries purged meanwhile.
INSERT_ATTEMPTS = """
INSERT INTO webhooks_deliveryattempt
  (delivery_id, started_at, duration_ms, headers, status, answer, error)
SELECT o.* FROM unnest(%s::uuid[], %s::timestamptz[], %s::int[], %s::jsonb[], %s::int[],
                       %s::text[], %s::text[]) AS o(id, at, ms, headers, status, answer, error)
WHERE EXISTS (SELECT 1 FROM webhooks_delivery d WHERE d.id = o.id)
"""

# Only the holder of the claim writes: after the lease another worker may hold it. A delivery
# cancelled meanwhile stays cancelled unless it was accepted after all.
UPDATE_DELIVERIES = """
UPDATE webhooks_delivery d SET state = o.state,
  due_at = statement_timestamp() + make_interval(secs => o.due_in),
  finished_at = CASE WHEN o.state <> 'pending' THEN statement_timestamp() END
FROM unnest(%s::uuid[], %s::int[], %s::text[], %s::float[]) AS o(id, claims, state, due_in)
WHERE d.id = o.id AND d.claims = o.claims
  AND (d.due_at IS NOT NULL OR o.state = 'delivered')
RETURNING d.id, d.round_at
"""

MARK_FAILING = """
UPDATE webhooks_endpoint SET failing_since = statement_timestamp()
WHERE id = ANY(%s::uuid[]) AND failing_since IS NULL
"""

MARK_ACCEPTING = """
UPDATE webhooks_endpoint SET last_success_at = statement_timestamp(), failing_since = NULL
WHERE id = ANY(%s::uuid[])
"""

# Fails pending deliveries to disabled and deleted endpoints, and to hosts that their endpoints have
# left; skips locked rows. One index look-up finds the next endpoint with a pending delivery: those
# deleted are kept for a month, and anybody may make and delete as many as they like.
CANCEL_UNDELIVERABLE = f"""
WITH RECURSIVE waiting AS (
  (SELECT endpoint_id FROM webhooks_delivery WHERE due_at IS NOT NULL
   ORDER BY endpoint_id LIMIT 1)
  UNION ALL
  SELECT (SELECT d.endpoint_id FROM webhooks_delivery d
          WHERE d.due_at IS NOT NULL AND d.endpoint_id > waiting.endpoint_id
          ORDER BY d.endpoint_id LIMIT 1)
  FROM waiting WHERE waiting.endpoint_id IS NOT NULL),
off AS (
  SELECT d.id FROM waiting JOIN webhooks_endpoint e ON e.id = waiting.endpoint_id
  CROSS JOIN LATERAL (
    SELECT id FROM webhooks_delivery d WHERE endpoint_id = e.id AND due_at IS NOT NULL
      AND (e.disabled_at IS NOT NULL OR e.deleted_at IS NOT NULL OR {_IS_AT_HOME} IS NOT TRUE)
    FOR UPDATE SKIP LOCKED) d
  LIMIT %s)
UPDATE webhooks_delivery d
SET state = 'failed', due_at = NULL, finished_at = statement_timestamp()
FROM off WHERE d.id = off.id
"""  # noqa: S608


class WebhookDispatcher:
    """Its loop runs in every worker."""

    def __init__(self) -> None:
        self.loop = OutboxLoop[CallOutcome](
            "webhooks", settings.WEBHOOK_THREADS, events.new_deliveries
        )
        self.unwritten: list[CallOutcome] = []
        self.postponed: list[CallOutcome] = []
        self.postponed_until = 0.0
        self.in_flight: dict[UUID, ClaimedDelivery] = {}  # by delivery
        # Slow companies, that called longest ago first, and until when they count as such.
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
        """The last time: postponed ones, too."""
        self.postponed_until = 0.0
        self.record()

    def _write(self, group: list[CallOutcome]) -> None:
        write_together(group, record, self._postpone, lambda error: not is_outage(error))

    def _postpone(self, outcome: CallOutcome, error: Exception) -> None:
        """Drops an outcome that is refused: its lease expires and it is called again. Postpones one
        whose rows are locked, so that it does not delay others.
        """
        delivery = str(outcome.claimed.delivery_id)
        log.error("webhook_not_recorded", delivery=delivery, exc_info=error)
        if not is_refusal(error):
            self.postponed.append(outcome)
            self.postponed_until = time.monotonic() + WRITE_RETRY_DELAY

    def claim(self) -> None:
        """Claims at most one delivery per free thread, so every claim is called at once."""
        free = settings.WEBHOOK_THREADS - len(self.in_flight)
        if free <= 0 or self.loop.stopping.is_set():
            return
        now = time.monotonic()
        self.slow = {company: until for company, until in self.slow.items() if until > now}
        for claimed in claim(free, list(self.in_flight.values()), list(self.slow)):
            if claimed.company_id in self.slow:  # the last to have its turn again
                self.slow[claimed.company_id] = self.slow.pop(claimed.company_id)
            self.in_flight[claimed.delivery_id] = claimed
            self.loop.call(http_call.call, claimed)


def claim(
    limit: int, busy: Sequence[ClaimedDelivery] = (), slow: Sequence[int] = ()
) -> list[ClaimedDelivery]:
    """Claims and commits up to `limit` due deliveries in addition to those in `busy`.

    `slow` are the slow companies, in the order of their turns.
    """
    slow_calls = sum(claimed.company_id in slow for claimed in busy)
    params: dict[str, Any] = {
        "deliveries": [claimed.delivery_id for claimed in busy],
        "endpoints": [claimed.endpoint_id for claimed in busy],
        "companies": [claimed.company_id for claimed in busy],
        "share": MAX_CALLS_PER_ENDPOINT,
        "company_share": MAX_CALLS_PER_COMPANY,
        "slow": list(slow),
        "slow_share": settings.WEBHOOK_THREADS // 2 - slow_calls,
        "limit": limit,
        "lease": settings.WEBHOOK_LEASE,
    }
    with connection.cursor() as cursor:
        cursor.execute(ANY_DUE)
        if not cursor.fetchone()[0]:
            return []
        cursor.execute(CLAIM, params)
        return fetch_all(cursor, ClaimedDelivery)


@transaction.atomic
def record(outcomes: Sequence[CallOutcome]) -> None:
    """Stores the attempts, updates their deliveries, and disables endpoints that keep failing."""
    ids = [outcome.claimed.delivery_id for outcome in outcomes]
    with connection.cursor() as cursor:
        cursor.execute(LOCK_ENDPOINTS, [ids])
        cursor.execute(INSERT_ATTEMPTS, _attempt_columns(outcomes))
        moves: list[list[Any]] = [
            [outcome.claimed.claims for outcome in outcomes],
            [outcome.state.value for outcome in outcomes],
            [outcome.due_in for outcome in outcomes],
        ]
        cursor.execute(UPDATE_DELIVERIES, [ids, *moves])
        round_of: dict[UUID, datetime | None] = dict(cursor.fetchall())
        # One message's URL says nothing of the endpoint: it may be gone, or wrong from the start.
        about_endpoints = [outcome for outcome in outcomes if not outcome.claimed.is_callback]
        refused = [outcome for outcome in about_endpoints if not outcome.is_accepted]
        cursor.execute(MARK_FAILING, [[outcome.claimed.endpoint_id for outcome in refused]])
        accepted = [
            outcome.claimed.endpoint_id for outcome in about_endpoints if outcome.is_accepted
        ]
        cursor.execute(MARK_ACCEPTING, [accepted])
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
    """Disables an endpoint that answered 410, or that has accepted nothing since the first try of a
    delivery that has now finally failed, about a day ago.
    """
    enabled = Endpoint.objects.filter(pk=outcome.claimed.endpoint_id, disabled_at=None)
    if outcome.status == http_call.GONE:
        endpoints.disable_automatically(enabled, Endpoint.Reason.GONE)
    else:
        silent = enabled.exclude(last_success_at__gt=round_at)
        endpoints.disable_automatically(silent, Endpoint.Reason.FAILING)


def cancel_undeliverable() -> int:
    """Fails pending deliveries to disabled and deleted endpoints; they can be replayed later.

    Works in small batches, because a backlog may be of any size.
    """
    total = 0
    for _batch in range(BATCHES):
        with connection.cursor() as cursor:
            cursor.execute(CANCEL_UNDELIVERABLE, [BATCH])
            total += cursor.rowcount
            if cursor.rowcount < BATCH:
                break
    return total
