"""Holds back everything that a restored copy of the database would send.

The original database has gone on, and has sent everything that waits in the copy. Deliveries that
the copy can still prove are settled first; then every open message expires and its hold returns,
and webhooks, e-mails, notices and sessions end. Automatic top-ups pause: the original may have
charged the same cards. Weekly reports are postponed by a week, deletions of companies by two.
"""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from django.contrib.sessions.models import Session
from django.db.models import Q
from django.utils import timezone

from accounts.models import Company, Mail, UserSession
from accounts.people.planned_deletion import WARNING_PERIOD
from billing.models import AutoTopUp, Order
from channels import extensions
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Attempt, Message, OpenMessage
from channels.outcomes import due_receipts, transitions
from operator_admin.models import Alert, TelegramNotice
from otp.protection import week_reports
from webhooks.models import Delivery, Endpoint

BATCH_SIZE = 500
HELD_BACK = "held back: from a restored backup"

_OPEN_ATTEMPT = Q(state__in=[Attempt.State.SUBMITTING, Attempt.State.AMBIGUOUS, Attempt.State.SENT])


@dataclass(frozen=True, slots=True)
class HeldBack:
    messages: int
    webhooks: int
    emails: int
    notices: int  # to the operators' chat
    sessions: int
    top_ups: int  # companies whose automatic top-ups are paused


def hold_back() -> HeldBack:
    """Holds everything back; safe to repeat."""
    _settle_proofs()
    week_reports.postpone()
    _postpone_deletions()
    messages = _expire_messages()
    # After the messages, whose expiry queues webhook events; companies may replay them.
    return HeldBack(
        messages,
        _fail_webhooks(),
        _drop_emails(),
        _drop_notices(),
        _end_sessions(),
        _pause_top_ups(),
    )


def count_unsent() -> int:
    """The number of unsent messages, webhooks, e-mails and notices, and of automatic top-ups."""
    return (
        OpenMessage.objects.count()
        + Delivery.objects.filter(due_at__isnull=False).count()
        + Mail.objects.filter(due_at__isnull=False).count()
        + TelegramNotice.objects.count()
        + AutoTopUp.objects.filter(is_enabled=True, paused_at=None).count()
    )


def _settle_proofs() -> None:
    """Settles entered codes and applies stored receipts."""
    for kind in extensions.kinds.values():
        _until_done(kind.settle)
    _until_done(due_receipts.apply_stored)


def _until_done(step: Callable[[], object]) -> None:
    while step():
        pass


def _expire_messages() -> int:
    total = OpenMessage.objects.count()
    while attempts := _open_attempts():
        transitions.commit_events([Event(*attempt, EventKind.GIVEN_UP) for attempt in attempts])
    while messages := _open_messages():
        transitions.give_up(messages)
    return total


def _open_attempts() -> list[tuple[UUID, UUID]]:
    """The open attempt of each message."""
    attempts = Attempt.objects.filter(_OPEN_ATTEMPT).order_by("message_id", "n")
    return list(attempts.values_list("message_id", "pk")[:BATCH_SIZE])


def _open_messages() -> list[UUID]:
    messages = OpenMessage.objects.filter(
        message__state__in=[Message.State.QUEUED, Message.State.SENT]
    )
    return list(messages.values_list("pk", flat=True)[:BATCH_SIZE])


def _fail_webhooks() -> int:
    """Fails waiting deliveries, and forgets which endpoints failed.

    A rehearsal would otherwise warn their owners.
    """
    Endpoint.objects.update(failing_since=None)
    return Delivery.objects.filter(due_at__isnull=False).update(
        state=Delivery.State.FAILED, due_at=None, finished_at=timezone.now()
    )


def _drop_emails() -> int:
    return Mail.objects.filter(due_at__isnull=False).update(
        due_at=None, text="", html="", error=HELD_BACK
    )


def _drop_notices() -> int:
    """Drops notices and ends the alerts silently: the copy's own faults open new ones."""
    Alert.objects.filter(ended_at=None).update(ended_at=timezone.now())
    return TelegramNotice.objects.all().delete()[0]


def _end_sessions() -> int:
    """Ends all sessions: users signed out or removed since the backup must not be signed in."""
    UserSession.objects.all().delete()
    return Session.objects.all().delete()[0]


def _postpone_deletions() -> None:
    """Postpones deletions: an owner may have cancelled one since the backup.

    The last warning before the new day is due in a week, so a rehearsal e-mails nobody.
    """
    day = timezone.now() + 2 * WARNING_PERIOD
    Company.objects.closing().filter(closes_at__lt=day).update(closes_at=day)


def _pause_top_ups() -> int:
    """Pauses the automatic top-ups of all companies, without an e-mail; returns how many.

    Ends charges that no provider has confirmed.
    """
    unconfirmed = Order.objects.filter(automatic__isnull=False, state=Order.State.CREATED)
    unconfirmed.end(Order.State.CANCELED)
    active = AutoTopUp.objects.filter(is_enabled=True, paused_at=None)
    return active.update(paused_at=timezone.now(), paused_for=AutoTopUp.Pause.RESTORED)
