"""Delivery receipts: stored while the vendor waits, applied by a worker.

Receipts come twice, late, out of order and before our own commit. A digest of the content detects a
repeat. A receipt for an unknown attempt is parked and matched again later.
"""

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from datetime import datetime
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.backends.utils import CursorWrapper

from billing.wallet.ledger import DeliveryProof
from catalogue.ids import uuid_or_none
from channels import sql, wakeups
from channels.lifecycle.state_machine import Event, EventKind
from channels.lifecycle.states import Decision
from channels.outcomes import sms_parts, transitions, unchanged_messages
from channels.phone_numbers import e164_or_none
from channels.providers.inbound import InboundEvents, Receipt, ReceiptState
from channels.recipients import vendor_user_ids
from channels.vendor_accounts import registry
from parsing.characters import stored_text
from processes.monitoring import tracing
from storage.statements import sql_files
from storage.statements.group_commit import GroupCommit
from storage.statements.json_rows import bytea, dump_rows
from storage.statements.named_rows import fetch_all
from storage.statements.single_statement import fetch_rows
from storage.store_errors import is_refusal, is_refused_by_database, write_together

log = structlog.get_logger(__name__)

BATCH_SIZE = 100
MAX_RAW_BYTES = 2**20  # of the receipts of one call, whose body is stored with each of them
MAX_SHARED_BYTES = 2**16  # of a call whose receipts share a statement with those of other calls
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


DUE_RECEIPTS = sql_files.read("channels/outcomes/due_receipts.sql")

# A separate statement, because workers ask often and mostly nothing is due.
HAS_DUE_RECEIPTS = """
SELECT EXISTS (SELECT 1 FROM channels_receipt
               WHERE due_at <= now() AND received_at >= :start AND received_at < :end)
"""

DUE_RECEIPT_IDS = """
SELECT id FROM channels_receipt
WHERE due_at <= now() AND received_at >= :start AND received_at < :end ORDER BY due_at LIMIT %s
"""

_STORE = sql_files.read("channels/outcomes/store_receipts.sql")
_RECIPIENTS = f""",
recipients AS ({vendor_user_ids.REMEMBER})"""


@cache
def store_statement(*, has_recipients: bool, skips_known: bool) -> str:
    """The statement, with or without the parts that these receipts need."""
    return sql_files.fill(
        _STORE,
        stores_known="false" if skips_known else "true",
        recipients=_RECIPIENTS if has_recipients else "",
    )


MARK_RECEIPTS_APPLIED = """
UPDATE channels_receipt r SET due_at = NULL, applied_at = now(), attempt_id = n.attempt_id
FROM unnest(%s::bigint[], %s::uuid[]) AS n(id, attempt_id)
WHERE r.id = n.id AND r.received_at >= :start AND r.received_at < :end
"""

# The delay grows with the receipt's age: receipts of messages sent by
# other systems arrive in numbers.
PARK_RECEIPTS = """
UPDATE channels_receipt
SET due_at = now() + GREATEST(make_interval(secs => %s), (now() - received_at) / 2)
WHERE id = ANY(%s) AND received_at >= :start AND received_at < :end
"""

MARK_RECEIPTS_UNMATCHED = """
UPDATE channels_receipt SET due_at = NULL
WHERE id = ANY(%s) AND received_at >= :start AND received_at < :end
"""

Row = dict[str, Any]  # by columns, for the JSON parameters of `store_statement`


class _StoredCall(NamedTuple):
    """The content of a vendor's call. `skips_known`: leave out a *sent* of
    an attempt whose acceptance is already written.
    """

    receipts: list[Row]
    recipients: list[Row]
    skips_known: bool = True


def store(provider: str, batch: Sequence[InboundEvents]) -> int:
    """Stores receipts and parts in one commit; returns the number of new receipts.

    Safe to repeat. A call with an alert is stored whole: its alert counts if a receipt is new.
    """
    parts = [part for events in batch for part in events.parts]
    rows = [_row(provider, *event) for events in batch for event in _with_raw(events)]
    if not rows and not parts:
        return 0
    recipients = [recipient for events in batch for recipient in events.recipients]
    has_alert = any(events.alerts for events in batch)
    call = _StoredCall(rows, vendor_user_ids.rows(provider, recipients), not has_alert)
    is_large = sum(len(events.raw) for events in batch) > MAX_SHARED_BYTES
    with transaction.atomic() if parts else nullcontext():
        if parts:
            sms_parts.store(provider, parts)
        new = _store(call) if has_alert or is_large else _calls.run(call)
    if new:
        wakeups.wake_workers()
    return new


def _with_raw(events: InboundEvents) -> Iterator[tuple[Receipt, bytes]]:
    # Only the first receipt of a large batch keeps the body: a thousand copies would be too much.
    is_short = len(events.receipts) * len(events.raw) <= MAX_RAW_BYTES
    for number, receipt in enumerate(events.receipts):
        yield receipt, events.raw if is_short or not number else b""


def _store(call: _StoredCall) -> int:
    """Stores the receipts. A receipt that is refused is left out: the vendor
    would repeat the call forever.
    """
    new: set[str] = set()

    def insert(rows: Sequence[Row]) -> None:
        new.update(_insert(rows, call.recipients, skips_known=call.skips_known))

    write_together(call.receipts, insert, _refuse, is_refused_by_database)
    return len(new)


def _refuse(row: Row, error: Exception) -> None:
    log.error("receipt_not_stored", provider=row["provider"], exc_info=error)


def _store_together(calls: Sequence[_StoredCall]) -> list[int]:
    """Stores the receipts of several calls. A receipt that several calls
    repeat counts once for each.
    """
    rows = [row for call in calls for row in call.receipts]
    recipients = [row for call in calls for row in call.recipients]
    new = _insert(rows, recipients, skips_known=True)
    return [sum(row["digest"] in new for row in call.receipts) for call in calls]


def _insert(rows: Sequence[Row], recipients: Sequence[Row], *, skips_known: bool) -> set[str]:
    """Inserts in sorted order, so that parallel repeats cannot deadlock; returns
    the digests of new receipts.
    """
    if not rows:
        return set()
    people = vendor_user_ids.without_repeats(recipients)
    statement = store_statement(has_recipients=bool(people), skips_known=skips_known)
    ordered = sorted(rows, key=itemgetter("digest"))
    params = {"receipts": dump_rows(ordered), "recipients": dump_rows(people)}
    stored: list[dict[str, bytes]] = fetch_rows(sql.in_changeable_months(statement), params, dict)
    return {bytea(row["digest"]) for row in stored}


_calls = GroupCommit(_store, _store_together)


def _row(provider: str, receipt: Receipt, raw: bytes) -> Row:
    return {
        "provider": provider,
        "digest": bytea(_digest(provider, receipt)),
        "provider_id": stored_text(receipt.provider_id, 200),
        "alternatives": [stored_text(provider_id, 200) for provider_id in receipt.alternatives],
        "phone": _phone(receipt),
        "needs_phone": receipt.needs_phone,
        "ref": uuid_or_none(receipt.ref or ""),
        "state": receipt.state.value,
        "word": stored_text(receipt.word, 40),
        "error_code": stored_text(receipt.error_code, 60),
        "error_detail": stored_text(receipt.error_detail, 300),
        "at": receipt.at,
        "raw": bytea(raw),
    }


def _phone(receipt: Receipt) -> str:
    """Returns E.164, or "?", which matches no message, if the vendor's value is not a phone."""
    if not receipt.phone:
        return "?" if receipt.needs_phone else ""
    return e164_or_none(receipt.phone, settings.OPERATOR_COUNTRY) or "?"


def _digest(provider: str, receipt: Receipt) -> bytes:
    """The digest of a receipt, including who may have written it: a person's text must not pass for
    the centre's receipt.
    """
    identity = (provider, receipt.provider_id, receipt.ref, receipt.word, receipt.at)
    source = (receipt.phone, receipt.needs_phone)
    return hashlib.sha256(repr((identity, source)).encode()).digest()


def apply_stored() -> bool:
    """Applies a batch of due receipts; returns whether more may be due."""
    with connection.cursor() as cursor:
        cursor.execute(sql.in_changeable_months(HAS_DUE_RECEIPTS))
        if not cursor.fetchone()[0]:
            return False
    try:
        delivered, has_left = unchanged_messages.deliver_unchanged(BATCH_SIZE)
        applied = _apply_batch(BATCH_SIZE) if has_left else 0
    except DatabaseError as error:
        if not is_refusal(error):
            raise
        log.exception("receipts_not_applied")
        _apply_one_by_one()
        return True
    return BATCH_SIZE in (delivered, applied)


def _apply_batch(limit: int, only: int | None = None) -> int:
    started = time.time_ns()
    with transaction.atomic(), connection.cursor() as cursor:
        params = {"limit": limit, "patience": MATCH_TIMEOUT, "only": only}
        cursor.execute(sql.in_changeable_months(DUE_RECEIPTS), params)
        due = fetch_all(cursor, DueReceipt)
        matched = [(row, _event(row, *row.matched)) for row in due if row.matched]
        events = sms_parts.resolve(cursor, [(event, row.part_id) for row, event in matched])
        decisions = transitions.apply_in_transaction(cursor, events) if events else []
        if matched:
            applied: list[list[Any]] = [
                [row.id for row, _ in matched],
                [event.attempt_id for _, event in matched],
            ]
            cursor.execute(sql.in_changeable_months(MARK_RECEIPTS_APPLIED), applied)
        _park(cursor, [row for row in due if not row.matched])
    transitions.announce(decisions)
    if tracing.is_on():
        _trace(due, decisions, started)
    return len(due)


def _apply_one_by_one() -> None:
    """Isolates a receipt the database refuses: it stays stored but is no longer retried."""
    with connection.cursor() as cursor:
        cursor.execute(sql.in_changeable_months(DUE_RECEIPT_IDS), [BATCH_SIZE])
        ids = [receipt_id for (receipt_id,) in cursor.fetchall()]
    for receipt_id in ids:
        try:
            _apply_batch(1, only=receipt_id)
        except DatabaseError as error:
            if not is_refusal(error):
                raise
            log.exception("receipt_not_applied", receipt=receipt_id)
            with connection.cursor() as cursor:
                _mark_unmatched(cursor, [receipt_id])


class DueReceipt(NamedTuple):  # a row of `DUE_RECEIPTS`
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
        cursor.execute(sql.in_changeable_months(PARK_RECEIPTS), [PARK_SECONDS, parked])


def _mark_unmatched(cursor: CursorWrapper, receipt_ids: Sequence[int]) -> None:
    cursor.execute(sql.in_changeable_months(MARK_RECEIPTS_UNMATCHED), [list(receipt_ids)])


def _event(row: DueReceipt, message_id: UUID, attempt_id: UUID) -> Event:
    return event_of(
        message_id,
        attempt_id,
        Receipt(
            provider_id=row.provider_id or None,
            ref=None,
            state=ReceiptState(row.state),
            word=row.state,
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
