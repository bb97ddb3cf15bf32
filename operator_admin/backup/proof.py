"""Holds back what a copy of the database would send, and proves the copy.

The original went on without the copy: what waited there has been sent since. Here it must not be
sent again. What the copy can still prove is settled first; then every open message expires and its
hold returns, and webhooks, e-mails, notices and sessions end. Weekly reports are told a week later.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.models import Q
from django.utils import timezone

from accounts.models import Mail, UserSession
from accounts.sign_in import mfa
from channels import extensions, full_reconciliation, retention
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Attempt, Message, OpenMessage
from channels.outcomes import receipts, transitions
from operator_admin.backup.manifest import AVAILABLE, HELD, Sums, token_sums
from operator_admin.backup.postgres import other_sessions
from operator_admin.doctor.finding import Finding, failed, passed, verdict
from operator_admin.models import Alert, TelegramNotice
from otp.protection import week_reports
from persons import erasure_list
from persons.erasure import reapply_erasures
from storage.schema_changes.runs import unapplied_migrations
from webhooks.models import Delivery, Endpoint

BATCH = 500
HELD_BACK = "held back: from a restored backup"

_OPEN_ATTEMPT = Q(state__in=[Attempt.State.SUBMITTING, Attempt.State.AMBIGUOUS, Attempt.State.SENT])


@dataclass(frozen=True, slots=True)
class HeldBack:
    messages: int
    webhooks: int
    emails: int
    notices: int  # to the operators' chat
    sessions: int


def hold_back() -> HeldBack:
    """Safe to repeat; a second run finds nothing."""
    _settle_proofs()
    week_reports.postpone()
    messages = _expire_messages()
    # Afterwards: an expired message is an event for its company, which may replay it.
    return HeldBack(messages, _fail_webhooks(), _drop_emails(), _drop_notices(), _end_sessions())


def still_open() -> int:
    """What would still be sent: messages, webhooks, e-mails and notices."""
    return (
        OpenMessage.objects.count()
        + Delivery.objects.filter(due_at__isnull=False).count()
        + Mail.objects.filter(due_at__isnull=False).count()
        + TelegramNotice.objects.count()
    )


def _settle_proofs() -> None:
    """Codes that were entered and receipts that had come, which nobody applied yet."""
    for settler in extensions.settlers:
        _until_done(settler)
    _until_done(receipts.apply_stored)


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
    return list(attempts.values_list("message_id", "pk")[:BATCH])


def _open_messages() -> list[UUID]:
    messages = OpenMessage.objects.filter(
        message__state__in=[Message.State.QUEUED, Message.State.SENT]
    )
    return list(messages.values_list("pk", flat=True)[:BATCH])


def _fail_webhooks() -> int:
    return Delivery.objects.filter(due_at__isnull=False).update(
        state=Delivery.State.FAILED, due_at=None, finished_at=timezone.now()
    )


def _drop_emails() -> int:
    return Mail.objects.filter(due_at__isnull=False).update(
        due_at=None, text="", html="", error=HELD_BACK
    )


def _drop_notices() -> int:
    """Also ends the alerts, silently: the copy's own faults open new ones."""
    Alert.objects.filter(ended_at=None).update(ended_at=timezone.now())
    return TelegramNotice.objects.all().delete()[0]


def _end_sessions() -> int:
    """Whoever was signed out or removed since the copy was made must not be signed in again."""
    UserSession.objects.all().delete()
    return Session.objects.all().delete()[0]


_SINCE = """
SELECT COALESCE(sum(amount) FILTER (WHERE kind = 'release'), 0),
       COALESCE(sum(amount) FILTER (WHERE kind = 'capture'), 0)
FROM billing_transfer WHERE id > %s
"""
_LAST = "SELECT COALESCE(max(id), 0) FROM billing_transfer"
NOT_THE_BOOKS = "Do not open this copy: use an older backup, and keep this one to be examined."


def last_transfer() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_LAST)
        return int(cursor.fetchone()[0])


def prove(before: Sums, last: int, *, erasures: Iterable[str]) -> Iterator[Finding]:
    """`before`: the tokens as copied; `last`: the last transfer that was copied; `erasures`: a list
    that is newer than the copy's own, or nothing.
    """
    yield _migrations()
    # What was to be deleted since the copy was made is deleted here too.
    yield passed("retention", f"{retention.purge()} rows were past their time, and are gone")
    yield _erasures(erasures)
    yield _ledger()
    yield _tokens(before, last)
    yield _nothing_waits()
    yield _keys()
    yield _sessions()


def _migrations() -> Finding:
    missing = unapplied_migrations()
    return verdict("migrations", ", ".join(missing) or "all applied", "", ok=not missing)


def _erasures(lines: Iterable[str]) -> Finding:
    """Persons who were erased since the copy was made are erased here too."""
    try:
        read = erasure_list.load(lines)
    except (ValueError, KeyError, TypeError) as error:
        return failed("erasures", str(error), "Name a list that `reapply_erasures --list` wrote.")
    result = reapply_erasures()
    detail = f"{read} entries read, {result.erased} persons erased again"
    if result.unfinished:
        detail += f", {result.unfinished} whose codes can still be entered"
    if result.unknown:
        detail += f", {result.unknown} under a key that WEBHOOK_KEYS lacks"
    cure = (
        "Append the key to WEBHOOK_KEYS, or wait until the codes have expired; then "
        "`manage.py restore --already-restored --prove`."
    )
    return verdict("erasures", detail, cure, ok=not (result.unfinished or result.unknown))


def _ledger() -> Finding:
    breaches = full_reconciliation.breaches()
    text = "; ".join(f"{breach.check}: {breach.subject}" for breach in breaches[:5])
    detail = text or f"{full_reconciliation.NUMBER_OF_CHECKS} checks of the books, no breach"
    return verdict("ledger", detail, NOT_THE_BOOKS, ok=not breaches)


def _tokens(before: Sums, last: int) -> Finding:
    """Holding back returned each hold, or charged what was proved; nothing else moved."""
    with connection.cursor() as cursor:
        cursor.execute(_SINCE, [last])
        released, captured = (int(value) for value in cursor.fetchone())
    after = token_sums()
    expected = int(before[AVAILABLE]) + released, int(before[HELD]) - released - captured
    tokens = int(after[AVAILABLE]), int(after[HELD])
    detail = (
        f"available {before[AVAILABLE]} + {released} returned = {tokens[0]}; "
        f"held {before[HELD]} - {released} returned - {captured} charged by proof = {tokens[1]}"
    )
    return verdict("tokens", detail, NOT_THE_BOOKS, ok=tokens == expected and tokens[1] == 0)


def _nothing_waits() -> Finding:
    count = still_open()
    cure = "Run `manage.py restore --already-restored` again before any process starts."
    return verdict("nothing waits", f"{count} to be sent", cure, ok=not count)


def _keys() -> Finding:
    cure = "Put the keys back into the settings: see docs/operations/backup.md."
    second_factors = sum(
        not _is_readable(data)
        for data in Authenticator.objects.values_list("data", flat=True).iterator()
    )
    endpoints = Endpoint.objects.filter(deleted_at=None).exclude(
        key_id__in=list(settings.WEBHOOK_KEYS)
    )
    unsigned = endpoints.count()
    detail = f"{second_factors} second factors unreadable, {unsigned} webhooks without their key"
    return verdict("keys", detail, cure, ok=not (second_factors or unsigned))


def _is_readable(data: dict[str, Any]) -> bool:
    try:
        for name in mfa.SECRET_FIELDS:
            mfa.decrypt(data.get(name, ""))
    except ImproperlyConfigured:
        return False
    return True


def _sessions() -> Finding:
    others = sorted(set(other_sessions()))
    cure = "Stop them and restore again: they may have read or sent what the copy held."
    return verdict("alone", ", ".join(others) or "nobody else connected", cure, ok=not others)
