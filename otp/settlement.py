"""Settles codes that are over: charges a proved delivery and ends the links tied to the code."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import DatabaseError, connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job
from billing.wallet.ledger import DeliveryProof
from catalogue.ids import uuid7
from channels import sql as channels_sql
from channels.lifecycle.states import Decision
from channels.outcomes import transitions
from links.manage import changes
from otp import sealed_codes, sql, vendor_feedback
from storage.months.recent_ids import months_of, within
from storage.statements import sql_files
from storage.statements.single_statement import fetch_rows
from storage.store_errors import is_refusal
from webhooks import events as outbox

JOB = Job("settlement", _("settlement of entered codes"), given_up_delay=timedelta(hours=1))
BATCH = 200
_SETTLE_FINISHED = sql_files.fill(
    sql_files.read("otp/settle_finished.sql"), has_subscribers=outbox.has_endpoint_sql("v")
)


class Settled(NamedTuple):
    """The row of `settle_finished.sql`."""

    settled: list[UUID]
    due: int  # with those that the statement has left


def settle_verified() -> int:
    """Settles right codes, and returns how many. Most were entered after the receipt of their
    delivery: a single statement does that.
    """
    with connection.cursor() as cursor:
        cursor.execute(channels_sql.in_changeable_months(sql.HAS_UNSETTLED))
        has_verified, has_ended_early, has_expired_codes = cursor.fetchone()
    if has_expired_codes:
        sealed_codes.wipe_expired()
    if has_ended_early:
        settle_ended_early()
    if not has_verified:
        return 0
    finished = settle_finished()
    vendor_feedback.enqueue(finished.settled)
    if len(finished.settled) == finished.due:
        return finished.due
    return len(finished.settled) + prove_delivery()


def settle_finished() -> Settled:
    """Settles codes whose messages came to their end, where nobody is to be told."""
    (row,) = fetch_rows(channels_sql.in_changeable_months(_SETTLE_FINISHED), [BATCH], Settled)
    return row


def prove_delivery() -> int:
    """Charges one delivery for each right code: the cheapest open message of its verification.

    Also stops the fallback of the code and ends the links that live as long as it.
    """
    try:
        return _prove(sql.CLAIM_VERIFIED, BATCH)
    except DatabaseError as error:
        if not is_refusal(error):
            raise
    # One of them cannot be settled, for its company's wallet, say: it must not hold up the others.
    ids = _unsettled()
    JOB.together(ids, lambda these: _prove(sql.CLAIM_THESE, list(these)))
    return len(ids)


def _unsettled() -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(channels_sql.in_changeable_months(sql.UNSETTLED), [BATCH])
        return [verification_id for verification_id, _has_failed in cursor.fetchall()]


def _prove(claim: str, which: int | list[UUID]) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(channels_sql.in_changeable_months(claim), [which])
        claimed = cursor.fetchall()
        if not claimed:
            return 0
        ids = [verification_id for verification_id, _has_failed in claimed]
        changes.disable_with_codes(cursor, ids)  # links are locked before messages everywhere
        decisions = transitions.prove(
            cursor, [(verification_id, None) for verification_id in ids], DeliveryProof.CODE_ENTERED
        )
        event_ids = [uuid7() for _one in ids]
        cursor.execute(within(sql.SETTLE_VERIFIED, months_of(ids)), [ids, event_ids])
        outbox.wake_dispatcher(cursor.rowcount)
    transitions.announce(decisions)
    vendor_feedback.enqueue(ids)
    for verification_id, has_failed in claimed:
        if has_failed:
            JOB.succeeded(verification_id)
    return len(ids)


def settle_ended_early() -> int:
    """Ends what belongs to codes superseded or out of attempts before they expired."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(channels_sql.in_changeable_months(sql.SETTLE_ENDED_EARLY), [BATCH])
        ids = [verification_id for (verification_id,) in cursor.fetchall()]
        decisions = end_with_codes(cursor, ids)
    transitions.announce(decisions)
    return len(ids)


def end_with_codes(cursor: CursorWrapper, ids: Sequence[UUID]) -> list[Decision]:
    """Ends what lived for these codes: links, and messages that are still to be sent."""
    changes.disable_with_codes(cursor, ids)  # links are locked before messages everywhere
    return transitions.cancel(cursor, ids)
