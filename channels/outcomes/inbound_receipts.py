"""Delivery receipts from vendors, stored while the vendor waits; `due_receipts` applies them.

Receipts come twice, late, out of order and before our own commit. A digest of the content detects a
repeat.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

import structlog
from django.conf import settings
from django.db import transaction

from catalogue.ids import uuid_or_none
from channels import sql
from channels.outcomes import sms_parts
from channels.phone_numbers import e164_or_none
from channels.providers.inbound import InboundEvents, Receipt
from channels.recipients import vendor_user_ids
from channels.waiting import wakeups
from parsing.characters import stored_text
from storage.statements import sql_files
from storage.statements.group_commit import GroupCommit
from storage.statements.json_rows import bytea, dump_rows
from storage.statements.single_statement import fetch_rows
from storage.store_errors import is_refused_by_database, write_together

log = structlog.get_logger(__name__)

MAX_RAW_BYTES = 2**20  # of the receipts of one call, whose body is stored with each of them
MAX_SHARED_BYTES = 2**16  # of a call whose receipts share a statement with those of other calls

_STORE = sql_files.read("channels/outcomes/store_receipts.sql")
_RECIPIENTS = sql_files.more_ctes({"recipients": vendor_user_ids.REMEMBER})


@cache
def store_statement(*, has_recipients: bool, skips_known: bool) -> str:
    """The statement that stores receipts, with only the parts that they need."""
    return sql_files.fill(
        _STORE,
        stores_known="false" if skips_known else "true",
        recipients=_RECIPIENTS if has_recipients else "",
    )


Row = dict[str, Any]  # by columns, for the JSON parameters of `store_statement`


class _StoredCall(NamedTuple):
    """The content of a vendor's call. `skips_known`: leave out a *sent* of an attempt whose
    acceptance is already written.
    """

    receipts: list[Row]
    recipients: list[Row]
    skips_known: bool = True


def store(provider: str, batch: Sequence[InboundEvents]) -> int:
    """Stores receipts and parts in one commit; returns the number of new receipts.

    Safe to repeat. A call with an alert is stored whole: its alert counts if a receipt is new.
    """
    parts = [part for events in batch for part in events.parts]
    rows = [_receipt_row(provider, *event) for events in batch for event in _with_raw(events)]
    if not rows and not parts:
        return 0
    recipients = [recipient for events in batch for recipient in events.recipients]
    has_alert = any(events.alerts for events in batch)
    call = _StoredCall(rows, vendor_user_ids.rows_to_remember(provider, recipients), not has_alert)
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
    """Stores the receipts of a call; returns the number of new ones.

    A receipt that the database refuses is left out: the vendor would repeat the call forever.
    """
    new: set[str] = set()

    def insert(rows: Sequence[Row]) -> None:
        new.update(_insert(rows, call.recipients, skips_known=call.skips_known))

    write_together(call.receipts, insert, _refuse, is_refused_by_database)
    return len(new)


def _refuse(row: Row, error: Exception) -> None:
    log.error("receipt_not_stored", provider=row["provider"], exc_info=error)


def _store_together(calls: Sequence[_StoredCall]) -> list[int]:
    """Stores the receipts of several calls; returns the number of each call's new receipts.

    A receipt that several calls repeat counts once for each.
    """
    rows = [row for call in calls for row in call.receipts]
    recipients = [row for call in calls for row in call.recipients]
    new = _insert(rows, recipients, skips_known=True)
    return [sum(row["digest"] in new for row in call.receipts) for call in calls]


def _insert(rows: Sequence[Row], recipients: Sequence[Row], *, skips_known: bool) -> set[str]:
    """Inserts rows, sorted so that parallel repeats cannot deadlock; returns new digests."""
    if not rows:
        return set()
    people = vendor_user_ids.without_repeats(recipients)
    statement = store_statement(has_recipients=bool(people), skips_known=skips_known)
    ordered = sorted(rows, key=itemgetter("digest"))
    params = {"receipts": dump_rows(ordered), "recipients": dump_rows(people)}
    stored: list[dict[str, bytes]] = fetch_rows(sql.in_changeable_months(statement), params, dict)
    return {bytea(row["digest"]) for row in stored}


_calls = GroupCommit(_store, _store_together)


def _receipt_row(provider: str, receipt: Receipt, raw: bytes) -> Row:
    return {
        "provider": provider,
        "digest": bytea(_digest(provider, receipt)),
        "provider_id": stored_text(receipt.provider_id, 200),
        "alternatives": [stored_text(provider_id, 200) for provider_id in receipt.alternatives],
        "phone": _phone(receipt),
        "needs_phone": receipt.needs_phone,
        "ref": uuid_or_none(receipt.ref or ""),
        "state": receipt.state.value,
        "vendor_status": stored_text(receipt.vendor_status, 40),
        "error_code": stored_text(receipt.error_code, 60),
        "error_detail": stored_text(receipt.error_detail, 300),
        "at": receipt.at,
        "raw": bytea(raw),
    }


def _phone(receipt: Receipt) -> str:
    """The phone in E.164, or "?", which matches no message, if the vendor's value is no phone."""
    if not receipt.phone:
        return "?" if receipt.needs_phone else ""
    return e164_or_none(receipt.phone, settings.OPERATOR_COUNTRY) or "?"


def _digest(provider: str, receipt: Receipt) -> bytes:
    """The digest of a receipt and of its possible author.

    A text that a person wrote must not pass for a receipt of the message centre.
    """
    identity = (provider, receipt.provider_id, receipt.ref, receipt.vendor_status, receipt.at)
    source = (receipt.phone, receipt.needs_phone)
    return hashlib.sha256(repr((identity, source)).encode()).digest()
