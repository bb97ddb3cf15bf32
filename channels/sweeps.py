"""What time alone brings about. Each sweep is a bounded batch, safe in any number of copies."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import structlog
from django.db import connection, transaction

from channels import outcomes, receipts, registry
from channels.claiming import LEAST_USE
from channels.providers.base import SendError
from channels.transitions import Event, What

log = structlog.get_logger(__name__)
BATCH = 200
PATIENCE, LOOK = 2.0, 0.5  # seconds without a round until the worker makes one, and between looks
POLLS, POLLS_AT_ONCE = 40, 8  # even of vendors that hang: done before POLL_LEASE is over
POLL_LEASE = 60.0  # seconds a claimed poll is ours

LEASES = """
SELECT id FROM channels_attempt WHERE state = 'submitting' AND lease_until < now()
ORDER BY lease_until LIMIT %s
"""

DUE_POLLS = """
WITH due AS (
  SELECT id FROM channels_attempt WHERE poll_at <= now() AND provider_id IS NOT NULL
    AND state IN ('submitting', 'ambiguous', 'sent')
    AND provider = ANY(%s)
  ORDER BY poll_at LIMIT %s FOR UPDATE SKIP LOCKED)
UPDATE channels_attempt a SET poll_at = now() + make_interval(secs => %s)
FROM due WHERE a.id = due.id RETURNING a.id, a.provider, a.provider_id
"""

OVERDUE_ATTEMPTS = """
SELECT a.id FROM channels_message m JOIN channels_attempt a ON a.message_id = m.id
WHERE m.state IN ('queued', 'sent') AND m.deadline < now()
  AND a.state IN ('submitting', 'ambiguous', 'sent') AND a.n = m.tries
ORDER BY m.deadline LIMIT %s
"""

OVERDUE_MESSAGES = """
SELECT id FROM channels_message m
WHERE m.state IN ('queued', 'sent') AND (
    (m.due_at IS NOT NULL AND m.useful_until < now() + make_interval(secs => %s))
    OR (m.deadline < now() AND NOT EXISTS (
      SELECT 1 FROM channels_attempt a
      WHERE a.message_id = m.id AND a.state IN ('submitting', 'ambiguous', 'sent'))))
ORDER BY m.deadline LIMIT %s
"""


class Rounds:
    """Rounds that the beat asks for, and this process makes unasked when no broker brings them:
    deadlines do not wait for Redis.
    """

    def __init__(self, make: Callable[[], object]) -> None:
        self._make, self._made_at = make, 0.0

    def make(self) -> None:
        self._made_at = time.monotonic()
        _each(self._make)

    def keep(self, stopping: threading.Event) -> None:
        while not stopping.wait(LOOK):
            if time.monotonic() > self._made_at + PATIENCE:
                self.make()
                connection.close()


def _each(*steps: Callable[[], object]) -> None:
    for step in steps:
        try:
            step()
        except Exception:  # one sweep's fault must not keep the others from their work
            log.exception("sweep_failed", sweep=step.__name__)
            connection.close()


def sweep() -> None:
    """Proofs are settled before anything is given up."""
    _each(*registry.settlers(), receipts.apply_stored, end_leases, give_up)


def end_leases() -> int:
    """A worker died in the middle of a call: whether the vendor got it nobody knows."""
    events = [Event(one, What.AMBIGUOUS, code="lease") for one in _ids(LEASES, [BATCH])]
    if events:
        outcomes.apply(events)
    return len(events)


def poll() -> int:
    """Ask vendors what became of what they accepted and have said nothing of since."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(DUE_POLLS, [registry.pollable(), POLLS, POLL_LEASE])
        rows = cursor.fetchall()
    if not rows:
        return 0
    with ThreadPoolExecutor(POLLS_AT_ONCE, thread_name_prefix="poll") as pool:
        events = list(pool.map(lambda row: _ask(*row), rows))
    outcomes.apply(events)
    return len(events)


def _ask(attempt_id: UUID, provider_name: str, provider_id: str) -> Event:
    provider = registry.provider(provider_name)
    try:
        receipt = provider.poll(provider_id)
    except SendError:
        receipt = None
    if receipt is None:
        return Event(attempt_id, What.NO_NEWS)
    event = receipts.event_of(attempt_id, receipt, pollable=True)
    return Event(attempt_id, What.NO_NEWS) if event.what is What.ACCEPTED else event


def give_up() -> int:
    """Past the deadline without proof: the hold goes back."""
    events = [Event(one, What.GIVEN_UP) for one in _ids(OVERDUE_ATTEMPTS, [BATCH])]
    if events:
        outcomes.apply(events)
    messages = _ids(OVERDUE_MESSAGES, [LEAST_USE, BATCH])
    if messages:
        outcomes.give_up(messages)
    return len(events) + len(messages)


def _ids(statement: str, params: list[int]) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return [row[0] for row in cursor.fetchall()]


# Apart from each other: vendors that hang must not hold up a deadline.
sweeping, polling = Rounds(sweep), Rounds(poll)
