"""Sweeps of everything that becomes due by time. Each is a bounded batch, safe in parallel copies.

Every worker runs them with its delivery loop, so deadlines wait neither for the beat nor the
broker.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job, not_waiting_sql
from channels import extensions, sql
from channels.deliver import fair_queueing
from channels.deliver.dispatcher import with_provider_id
from channels.lifecycle.snapshots import Decision
from channels.lifecycle.state_machine import MIN_TIME_LEFT, Event, EventKind
from channels.outcomes import due_receipts, transitions
from channels.providers.base import SendError
from channels.vendor_accounts import registry, vendor_alerts
from processes.background import PeriodicThread
from storage.statements import sql_files
from storage.statements.queries import select
from storage.store_errors import write_together

log = structlog.get_logger(__name__)
# Retried every hour once given up, not once a day, because tokens are held in the meantime.
JOB = Job("deadlines", _("deadlines of messages"), given_up_delay=timedelta(hours=1))
BATCH_SIZE = 200
SWEEP_INTERVAL = 1.0  # seconds
POLL_INTERVAL = 2.0  # seconds
# The threads finish a batch within the lease even if vendors hang.
POLL_BATCH_SIZE = 40
POLL_THREADS = 8
POLL_LEASE = 60.0  # seconds


def _not_waiting(step: str, message_id: str) -> str:
    return not_waiting_sql("deadlines", f"'{step}:' || {message_id}")


_SQL = sql_files.read_several(
    "channels/deliver/sweeps.sql",
    no_lease_waits=_not_waiting("lease", "message.id"),
    no_poll_waits=_not_waiting("poll", "attempt.message_id"),
)
_DUE = sql_files.read("channels/deliver/due_in_turn.sql")


def _due(step: str, at: str, queue: str, messages: str = "true") -> str:
    """The SQL that selects a batch of due rows, taken from companies in turn.

    A company with thousands of rows leaves room for the others in every batch.
    """
    not_waiting = _not_waiting(step, "queued.message_id")
    return sql_files.fill(_DUE, at=at, queue=queue, messages=messages, not_waiting=not_waiting)


PATIENCE_EXPIRED = _due(
    "patience", "fallback_at", "SELECT * FROM channels_openmessage WHERE fallback_at <= now()"
)

OVERDUE_ATTEMPTS = _due(
    "deadline",
    "deadline",
    "SELECT * FROM channels_openmessage WHERE deadline < now() AND attempt_id IS NOT NULL",
)

OVERDUE_MESSAGES = _due(
    "deadline",
    "deadline",
    """
    SELECT * FROM channels_openmessage
    WHERE due_at IS NOT NULL AND useful_until < now() + make_interval(secs => %s)
    UNION SELECT * FROM channels_openmessage WHERE deadline < now() AND attempt_id IS NULL""",
    "message.state IN ('queued', 'sent')",
)


class _DueAttempt(NamedTuple):
    """A row of a statement of `sweeps.sql` or of `_DUE`."""

    message_id: UUID
    attempt_id: UUID
    provider: str = ""
    phone: str = ""
    provider_id: str = ""
    state: str = ""


def _run_each(*steps: Callable[[], object]) -> None:
    for step in steps:
        try:
            step()
        except Exception:  # a failed sweep must not stop the other sweeps
            log.exception("sweep_failed", sweep=step.__name__)
            connection.close()


def sweep() -> None:
    """Runs all sweeps; proofs are settled before messages expire or switch their channel."""
    proofs = (*(kind.settle for kind in extensions.kinds.values()), due_receipts.apply_stored)
    _run_each(*proofs, expire_leases, fall_back, give_up, fair_queueing.reorder)


def expire_leases() -> int:
    """Marks attempts of dead workers as ambiguous; returns their number.

    Only a vendor that can be polled may know their outcome.
    """
    events = [
        with_provider_id(
            Event(lease.message_id, lease.attempt_id, EventKind.AMBIGUOUS, code="lease"),
            lease.provider,
            lease.phone,
        )
        for lease in _read(_SQL["expired_leases"], [BATCH_SIZE])
    ]
    write_together(events, transitions.commit_events, _apply_without_provider_id)
    return len(events)


def _apply_without_provider_id(event: Event, error: Exception) -> None:
    """Commits an event that the database refuses, without our provider id.

    The id may belong to another message, which a poll would return.
    """
    log.error("expired_lease_without_provider_id", exc_info=error)
    _commit("lease", [replace(event, provider_id=None, poll_in=None)])


def _commit(step: str, events: list[Event]) -> None:
    """Commits the events of one step; its failure for a message does not block other steps."""
    JOB.write_batch(events, transitions.commit_events, key=lambda event: (step, event.message_id))


def fall_back() -> int:
    """Switches messages that are unproved after the channel's patience to the next channel."""
    moved: list[Decision] = []
    messages = [row.message_id for row in _read(PATIENCE_EXPIRED, [BATCH_SIZE])]
    JOB.write_batch(
        messages,
        lambda ids: moved.extend(transitions.fall_back(ids)),
        key=lambda message_id: ("patience", message_id),
    )
    return len(moved)


def poll() -> int:
    """Polls vendors about accepted or ambiguous attempts without a receipt."""
    with transaction.atomic():
        due = _read(_SQL["due_polls"], [registry.pollable(), POLL_BATCH_SIZE, POLL_LEASE])
    if not due:
        return 0
    with ThreadPoolExecutor(POLL_THREADS, thread_name_prefix="poll") as pool:
        events = list(pool.map(_poll_attempt, due))
    _commit("poll", events)
    vendor_alerts.record_queued()
    return len(events)


def _poll_attempt(due: _DueAttempt) -> Event:
    provider = registry.provider(due.provider)
    no_news = Event(due.message_id, due.attempt_id, EventKind.NO_NEWS)
    try:
        receipt = provider.poll(due.provider_id)
    except SendError:
        receipt = None
    except Exception:  # one account's responses must not block the other accounts
        log.exception("poll_crashed", provider=due.provider)
        receipt = None
    if receipt is None:
        return no_news
    if alert := provider.alert_of(receipt):
        vendor_alerts.enqueue(due.provider, alert)
    event = due_receipts.event_of(due.message_id, due.attempt_id, receipt, pollable=True)
    is_known = event.kind is EventKind.ACCEPTED and due.state == "sent"
    return no_news if is_known else event


def give_up() -> int:
    """Expires unproved messages past their deadline and releases their holds."""
    overdue = _read(OVERDUE_ATTEMPTS, [BATCH_SIZE])
    events = [Event(row.message_id, row.attempt_id, EventKind.GIVEN_UP) for row in overdue]
    _commit("deadline", events)
    messages = [row.message_id for row in _read(OVERDUE_MESSAGES, [MIN_TIME_LEFT, BATCH_SIZE])]
    JOB.write_batch(messages, transitions.give_up, key=lambda message_id: ("deadline", message_id))
    return len(events) + len(messages)


def _read(statement: str, params: list[Any]) -> list[_DueAttempt]:
    return select(_DueAttempt, sql.in_changeable_months(statement), params)


def sweep_thread() -> PeriodicThread:
    return PeriodicThread("sweep", sweep, SWEEP_INTERVAL)


def poll_thread() -> PeriodicThread:
    """A thread for polls, apart from the sweeps: a vendor that hangs must not delay a deadline."""
    reports = [kind.report for kind in extensions.kinds.values()]
    return PeriodicThread("poll", partial(_run_each, poll, *reports), POLL_INTERVAL)
