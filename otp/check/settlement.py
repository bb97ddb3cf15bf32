"""Settles finished codes: charges proved deliveries and ends the links tied to the codes."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import DatabaseError, connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job, not_waiting_sql
from billing.wallet.ledger import DeliveryProof
from catalogue.ids import public_id_sql, uuid7
from channels import sql as channels_sql
from channels.lifecycle.snapshots import Decision
from channels.outcomes import transitions
from links.manage import changes
from otp import sealed_codes
from otp.check import entered_codes
from storage.months.recent_ids import limit_to_months, months_of
from storage.statements import sql_files
from storage.statements.queries import fetch_tuples
from storage.statements.single_statement import fetch_rows
from storage.store_errors import is_refusal
from webhooks import events as outbox

JOB = Job("settlement", _("settlement of entered codes"), given_up_delay=timedelta(hours=1))
BATCH_SIZE = 200
_SQL = sql_files.read_several(
    "otp/check/settlement.sql",
    is_not_waiting=not_waiting_sql("settlement", "otp_verification.id::text"),
    public_id=public_id_sql("otp", "id"),
    iso_verified_at=outbox.iso_sql("verified_at"),
)
_EVENTS = outbox.append_sql(_SQL["verified_event"], has_callback=True)
_SETTLE_VERIFIED = f"{_SQL['settle_verified']}, {_EVENTS}"
_SETTLE_FINISHED = sql_files.fill(
    sql_files.read("otp/check/settle_finished.sql"),
    has_subscribers=outbox.has_endpoint_sql("verification"),
)


class Settled(NamedTuple):
    """The row of `settle_finished.sql`."""

    settled: list[UUID]
    due: int  # rows read, including those left to the caller


def settle_verified() -> int:
    """Settles correct codes; returns how many.

    Most were entered after their delivery receipt, and a single statement settles these.
    """
    ((has_verified, has_ended_early, has_expired_codes),) = fetch_tuples(
        channels_sql.in_changeable_months(_SQL["has_unsettled"])
    )
    if has_expired_codes:
        sealed_codes.wipe_expired()
    if has_ended_early:
        settle_ended_early()
    if not has_verified:
        return 0
    finished = settle_finished()
    entered_codes.enqueue(finished.settled)
    if len(finished.settled) == finished.due:
        return finished.due
    return len(finished.settled) + prove_delivery()


def settle_finished() -> Settled:
    """Settles correct codes whose messages have ended, without a link to end or webhook to send."""
    (row,) = fetch_rows(channels_sql.in_changeable_months(_SETTLE_FINISHED), [BATCH_SIZE], Settled)
    return row


def prove_delivery() -> int:
    """Charges one delivery for each correct code: the cheapest open message of its verification.

    Also stops the fallback of the code and ends the links that expire with it.
    """
    try:
        return _prove(_SQL["claim_verified"], BATCH_SIZE)
    except DatabaseError as error:
        if not is_refusal(error):
            raise
    # One code that cannot be settled, because of its company's wallet for example, must not hold up
    # the rest.
    ids = _unsettled_ids()
    JOB.write_batch(ids, lambda claimed: _prove(_SQL["claim_given"], list(claimed)))
    return len(ids)


def _unsettled_ids() -> list[UUID]:
    rows = fetch_tuples(channels_sql.in_changeable_months(_SQL["unsettled"]), [BATCH_SIZE])
    return [verification_id for verification_id, _has_failed in rows]


def _prove(claim: str, limit_or_ids: int | list[UUID]) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(channels_sql.in_changeable_months(claim), [limit_or_ids])
        claimed = cursor.fetchall()
        if not claimed:
            return 0
        ids = [verification_id for verification_id, _has_failed in claimed]
        changes.disable_with_codes(cursor, ids)  # links are locked before messages everywhere
        decisions = transitions.prove(
            cursor, [(verification_id, None) for verification_id in ids], DeliveryProof.CODE_ENTERED
        )
        event_ids = [uuid7() for _verification_id in ids]
        cursor.execute(limit_to_months(_SETTLE_VERIFIED, months_of(ids)), [ids, event_ids])
        outbox.wake_dispatcher(cursor.rowcount)
    transitions.announce(decisions)
    entered_codes.enqueue(ids)
    for verification_id, has_failed in claimed:
        if has_failed:
            JOB.succeeded(verification_id)
    return len(ids)


def settle_ended_early() -> int:
    """Settles codes that were superseded or ran out of attempts before they expired."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(channels_sql.in_changeable_months(_SQL["settle_ended_early"]), [BATCH_SIZE])
        ids = [verification_id for (verification_id,) in cursor.fetchall()]
        decisions = end_links_and_messages(cursor, ids)
    transitions.announce(decisions)
    return len(ids)


def end_links_and_messages(cursor: CursorWrapper, ids: Sequence[UUID]) -> list[Decision]:
    """Ends the links of these codes and their messages that are not sent yet."""
    changes.disable_with_codes(cursor, ids)  # links are locked before messages everywhere
    return transitions.cancel(cursor, ids)
