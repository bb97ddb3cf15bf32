"""Delivery receipts: verified and stored while the vendor waits, applied by a worker.

They come twice, late, out of order and before our own commit. A repeat is recognised by what it
says; one that speaks of an attempt we do not know yet is parked and matched again.
"""

import hashlib
from collections.abc import Sequence
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DataError, IntegrityError, connection, transaction
from django.db.backends.utils import CursorWrapper

from billing.wallet.ledger import DeliveryProof
from channels import sql
from channels.accept import nudge
from channels.lifecycle.state_machine import Event, EventKind
from channels.outcomes import apply, sms_parts
from channels.phone_numbers import e164_or_none
from channels.providers.base import Receipt, ReceiptState, Recipient, Reply, WebhookRequest
from channels.providers.hosted_provider import Part, Report
from channels.recipients import opt_out, vendor_user_ids
from channels.vendor_accounts import registry

log = structlog.get_logger(__name__)

BATCH_SIZE = 100
MAX_RAW_BYTES = 2**20  # bytes of one call, kept with each of its receipts
PARK_SECONDS = 5.0  # seconds until an unmatched receipt is tried again, at first
MATCH_TIMEOUT = 600.0  # seconds after which it is kept as a record only

EVENT_KINDS = {
    ReceiptState.SENT: EventKind.ACCEPTED,
    ReceiptState.DELIVERED: EventKind.DELIVERED,
    ReceiptState.READ: EventKind.READ,
    ReceiptState.FAILED: EventKind.REFUSED,
    ReceiptState.UNREACHABLE: EventKind.UNREACHABLE,
    ReceiptState.EXPIRED: EventKind.EXPIRED,
    ReceiptState.NOT_FOUND: EventKind.RETRY,
}


def receive(provider: str, call: WebhookRequest) -> int:
    """Verify and store; returns how many were new. Raises InvalidSignatureError."""
    vendor = registry.live_providers()[provider]
    found = vendor.receipts(call)
    # Of a batch of many the first keeps the words of all: a thousand copies would be too much.
    is_short = len(found) * len(call.body) <= MAX_RAW_BYTES
    raw = [call.body if is_short or not n else b"" for n in range(len(found))]
    return store(provider, list(zip(found, raw, strict=True)), vendor.recipients(call))


def store(provider: str, reports: Sequence[Report], met: Sequence[Recipient] = ()) -> int:
    """All of them in one commit, in their order; returns how many receipts were new."""
    with transaction.atomic(), connection.cursor() as cursor:
        new = 0
        for report, raw in reports:
            if isinstance(report, Part):
                sms_parts.store(cursor, provider, report)
            elif isinstance(report, Reply):
                opt_out.apply_reply(provider, report)
            else:
                new += _store(cursor, provider, report, raw)
        if new and met:  # last, and in one order, so that no two calls wait for each other
            vendor_user_ids.remember(provider, met)
    if new:
        nudge.wake()
    return new


def _store(cursor: CursorWrapper, provider: str, receipt: Receipt, raw: bytes) -> int:
    cursor.execute(
        sql.STORE_RECEIPT,
        [
            provider,
            _digest(provider, receipt),
            _clean(receipt.provider_id, 200),
            [_clean(one, 200) for one in receipt.alternatives],
            _phone(receipt),
            receipt.needs_phone,
            _uuid(receipt.ref),
            receipt.state.value,
            _clean(receipt.word, 40),
            _clean(receipt.error_code, 60),
            _clean(receipt.error_detail, 300),
            receipt.at,
            raw,
        ],
    )
    return int(cursor.rowcount)


def _phone(receipt: Receipt) -> str:
    """In E.164; something else, which no message went to, where the vendor's is no phone."""
    if not receipt.phone:
        return "?" if receipt.needs_phone else ""
    return e164_or_none(receipt.phone, settings.OPERATOR_COUNTRY) or "?"


def _digest(provider: str, receipt: Receipt) -> bytes:
    said = (provider, receipt.provider_id, receipt.ref, receipt.word, receipt.at)
    return hashlib.sha256(repr(said).encode()).digest()


def _clean(text: str | None, longest: int) -> str:
    """A vendor may say anything, but PostgreSQL keeps no NUL."""
    return (text or "").replace("\0", "")[:longest]


def _uuid(ref: str | None) -> UUID | None:
    try:
        return UUID(ref) if ref else None
    except ValueError:
        return None


def apply_stored() -> bool:
    """Apply a group of what is due, in one commit; whether there may be more."""
    with connection.cursor() as cursor:
        cursor.execute(sql.HAS_DUE_RECEIPTS)
        if not cursor.fetchone()[0]:
            return False
    try:
        return _apply_group(BATCH_SIZE) == BATCH_SIZE
    except (IntegrityError, DataError):
        log.exception("receipts_not_applied")
        _apply_one_by_one()
        return True


def _apply_group(limit: int, only: int | None = None) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql.DUE_RECEIPTS, {"limit": limit, "patience": MATCH_TIMEOUT, "only": only})
        rows = cursor.fetchall()
        known = [row for row in rows if row[7] is not None]
        events = sms_parts.resolve_parts(cursor, [(_event(row), row[9]) for row in known])
        messages = apply.apply_in_transaction(cursor, events) if events else []
        if known:
            cursor.execute(
                sql.MARK_RECEIPTS_APPLIED, [[row[0] for row in known], [row[7] for row in known]]
            )
        _park(cursor, [row for row in rows if row[7] is None])
    apply.announce(messages)
    return len(rows)


def _apply_one_by_one() -> None:
    """One receipt the database refuses must hold up no other, and is itself kept as a record."""
    with connection.cursor() as cursor:
        cursor.execute(sql.DUE_RECEIPT_IDS, [BATCH_SIZE])
        ids = [row[0] for row in cursor.fetchall()]
    for one in ids:
        try:
            _apply_group(1, only=one)
        except (IntegrityError, DataError):
            log.exception("receipt_not_applied", receipt=one)
            with connection.cursor() as cursor:
                cursor.execute(sql.MARK_RECEIPTS_UNMATCHED, [[one]])


def _park(cursor: CursorWrapper, rows: list[tuple]) -> None:  # type: ignore[type-arg]
    old, young = [row[0] for row in rows if row[8]], [row[0] for row in rows if not row[8]]
    if old:
        log.warning("receipts_unmatched", count=len(old))
        cursor.execute(sql.MARK_RECEIPTS_UNMATCHED, [old])
    if young:
        cursor.execute(sql.PARK_RECEIPTS, [PARK_SECONDS, young])


def _event(row: tuple) -> Event:  # type: ignore[type-arg]
    _id, state, provider, provider_id, error_code, error_detail, at, attempt_id, *_rest = row
    return event_of(
        attempt_id,
        Receipt(
            provider_id=provider_id or None,
            ref=None,
            state=ReceiptState(state),
            word=state,
            at=at,
            error_code=error_code or None,
            error_detail=error_detail,
        ),
        pollable=registry.is_pollable(provider),
    )


def event_of(attempt_id: UUID, receipt: Receipt, *, pollable: bool) -> Event:
    """A receipt, pushed or polled, as the event it is."""
    return Event(
        attempt_id,
        EVENT_KINDS[receipt.state],
        provider_id=receipt.provider_id,
        code=receipt.error_code,
        detail=receipt.error_detail,
        proof=DeliveryProof.RECEIPT,
        at=receipt.at,
        pollable=pollable,
    )
