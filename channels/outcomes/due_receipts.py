"""Applies stored delivery receipts to their attempts, in a worker; `inbound_receipts` stores them.

A receipt for an unknown attempt is parked and matched again later.
"""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import structlog
from django.db import DatabaseError, connection, transaction
from django.db.backends.utils import CursorWrapper

from billing.wallet.ledger import DeliveryProof
from channels import sql
from channels.lifecycle.snapshots import Decision
from channels.lifecycle.state_machine import Event, EventKind
from channels.outcomes import sms_parts, transitions, unchanged_messages
from channels.providers.inbound import Receipt, ReceiptState
from channels.vendor_accounts import registry
from processes.monitoring import tracing
from storage.statements import sql_files
from storage.statements.named_rows import fetch_all
from storage.statements.queries import fetch_column, fetch_value
from storage.store_errors import is_refusal

log = structlog.get_logger(__name__)

BATCH_SIZE = 100
PARK_SECONDS = 5.0  # until the first retry of an unmatched receipt
MATCH_TIMEOUT = 600.0  # seconds after which an unmatched receipt is no longer retried

EVENT_KINDS = {
    ReceiptState.SENT: EventKind.ACCEPTED,
    ReceiptState.DELIVERED: EventKind.DELIVERED,
    ReceiptState.READ: EventKind.READ,
    ReceiptState.FAILED: EventKind.REFUSED,
    ReceiptState.UNREACHABLE: EventKind.UNREACHABLE,
    ReceiptState.BARRED: EventKind.BARRED,
    ReceiptState.EXPIRED: EventKind.EXPIRED,
    ReceiptState.NOT_FOUND: EventKind.RETRY,
}

_SQL = sql_files.read_several("channels/outcomes/due_receipts.sql")


def apply_stored() -> bool:
    """Applies a batch of due receipts; returns whether more may be due."""
    if not fetch_value(sql.in_changeable_months(_SQL["has_due"])):
        return False
    try:
        delivered, may_have_left = unchanged_messages.deliver_unchanged(BATCH_SIZE)
        applied = _apply_batch(BATCH_SIZE) if may_have_left else 0
    except DatabaseError as error:
        if not is_refusal(error):
            raise
        log.exception("receipts_not_applied")
        _apply_one_by_one()
        return True
    return BATCH_SIZE in (delivered, applied)


def _apply_batch(limit: int, receipt_id: int | None = None) -> int:
    started = time.time_ns()
    with transaction.atomic(), connection.cursor() as cursor:
        params = {"limit": limit, "match_timeout": MATCH_TIMEOUT, "only": receipt_id}
        cursor.execute(sql.in_changeable_months(_SQL["due"]), params)
        due = fetch_all(cursor, DueReceipt)
        matched = [(row, _event(row, *row.matched)) for row in due if row.matched]
        events = sms_parts.resolve(cursor, [(event, row.part_id) for row, event in matched])
        decisions = transitions.apply_in_transaction(cursor, events) if events else []
        if matched:
            applied: list[list[Any]] = [
                [row.id for row, _ in matched],
                [event.attempt_id for _, event in matched],
            ]
            cursor.execute(sql.in_changeable_months(_SQL["mark_applied"]), applied)
        _park(cursor, [row for row in due if not row.matched])
    transitions.announce(decisions)
    if tracing.is_on():
        _trace(due, decisions, started)
    return len(due)


def _apply_one_by_one() -> None:
    """Applies due receipts one by one; a refused one stays stored but is no longer retried."""
    for receipt_id in fetch_column(sql.in_changeable_months(_SQL["due_ids"]), [BATCH_SIZE]):
        try:
            _apply_batch(1, receipt_id=receipt_id)
        except DatabaseError as error:
            if not is_refusal(error):
                raise
            log.exception("receipt_not_applied", receipt=receipt_id)
            with connection.cursor() as cursor:
                _mark_unmatched(cursor, [receipt_id])


class DueReceipt(NamedTuple):  # a row of `due`
    id: int
    state: str
    provider: str
    provider_id: str
    error_code: str
    error_detail: str
    at: datetime | None
    matched: list[UUID] | None  # a message and its attempt
    is_timed_out: bool
    part_id: int | None


def _trace(due: Sequence[DueReceipt], decisions: Sequence[Decision], started: int) -> None:
    applied = {decision.message.id for decision in decisions}
    for row in due:
        if row.matched and row.matched[0] in applied:
            attributes = {"kvitok.provider": row.provider, "kvitok.receipt.state": row.state}
            message_id, attempt_id = row.matched
            tracing.record_receipt(message_id, attempt_id, started, attributes)


def _park(cursor: CursorWrapper, unmatched: Sequence[DueReceipt]) -> None:
    timed_out = [row.id for row in unmatched if row.is_timed_out]
    parked = [row.id for row in unmatched if not row.is_timed_out]
    if timed_out:
        log.warning("receipts_unmatched", count=len(timed_out))
        _mark_unmatched(cursor, timed_out)
    if parked:
        cursor.execute(sql.in_changeable_months(_SQL["park"]), [PARK_SECONDS, parked])


def _mark_unmatched(cursor: CursorWrapper, receipt_ids: Sequence[int]) -> None:
    cursor.execute(sql.in_changeable_months(_SQL["mark_unmatched"]), [list(receipt_ids)])


def _event(row: DueReceipt, message_id: UUID, attempt_id: UUID) -> Event:
    return event_of(
        message_id,
        attempt_id,
        Receipt(
            provider_id=row.provider_id or None,
            ref=None,
            state=ReceiptState(row.state),
            vendor_status=row.state,
            at=row.at,
            error_code=row.error_code or None,
            error_detail=row.error_detail,
        ),
        pollable=registry.is_pollable(row.provider),
    )


def event_of(message_id: UUID, attempt_id: UUID, receipt: Receipt, *, pollable: bool) -> Event:
    """Converts a receipt, pushed or polled, into an event."""
    return Event(
        message_id,
        attempt_id,
        EVENT_KINDS[receipt.state],
        provider_id=receipt.provider_id,
        code=receipt.error_code,
        detail=receipt.error_detail,
        proof=DeliveryProof.RECEIPT,
        at=receipt.at,
        pollable=pollable,
    )
