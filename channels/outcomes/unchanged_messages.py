"""Outcomes of messages that nothing else has changed, all of a kind written in one statement.

Most outcomes are acceptances of a message that is still as claimed, and receipts that deliver a
sent message. One statement compares versions or states and writes everything, instead of locking,
loading, deciding and writing as `channels.outcomes.transitions` does for all other outcomes.
"""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings

from billing.wallet import ledger
from channels import sql
from channels.lifecycle.state_machine import (
    FIRST_POLL_DELAY,
    Event,
    EventKind,
    FirstClaim,
    clean_provider_id,
)
from channels.waiting import outcome_signals
from channels.waiting.outcome_signals import Signal
from processes.monitoring import metrics, tracing
from storage.months.recent_ids import limit_to_months, months_of
from storage.statements import sql_files
from storage.statements.json_rows import dump_rows
from storage.statements.single_statement import fetch_rows
from webhooks.events import has_endpoint_sql

_ACCEPT_UNCHANGED = sql_files.fill(
    sql_files.read("channels/outcomes/accept_unchanged.sql"), stale_days=sql.MESSAGES["stale_days"]
)
_DELIVER_UNCHANGED = sql_files.fill(
    sql_files.read("channels/outcomes/deliver_unchanged.sql"),
    has_subscribers=has_endpoint_sql("message"),
    stale_days=sql.MESSAGES["stale_days"],
    capture=ledger.capture_sql("""
    SELECT company_id, 'capture' AS kind, price AS amount, message_id, hold, 'receipt' AS proof,
      '' AS reason FROM changed WHERE price > 0"""),
)


def accept_unchanged(events: Sequence[Event]) -> list[Event]:
    """Writes acceptances of messages that are as claimed; returns the other events."""
    acceptances = [
        (event, event.first_claim)
        for event in events
        if event.kind is EventKind.ACCEPTED and event.first_claim
    ]
    if not acceptances:
        return list(events)
    written = _accept(acceptances)
    signals = []
    for event, claim in acceptances:
        if event.attempt_id in written:
            metrics.count_message(claim.mode, claim.channel, "sent")
            signals.append(Signal(event.message_id, "sent", claim.channel, "", claim.price))
    if signals:
        outcome_signals.publish(signals)
    return [event for event in events if event.attempt_id not in written]


def _accept(acceptances: Sequence[tuple[Event, FirstClaim]]) -> set[UUID]:
    """Writes acceptances; returns the ids of the written attempts."""
    rows = [
        {
            "message_id": event.message_id,
            "attempt_id": event.attempt_id,
            "claim_xid": claim.xid,
            "provider_id": clean_provider_id(event.provider_id) if event.provider_id else None,
            "poll_in": FIRST_POLL_DELAY if event.pollable else None,
        }
        for event, claim in acceptances
    ]
    months = months_of(event.message_id for event, _claim in acceptances)
    params = {"acceptances": dump_rows(rows), "zone": settings.TIME_ZONE}
    accepted: list[dict[str, UUID]] = fetch_rows(
        limit_to_months(_ACCEPT_UNCHANGED, months), params, dict
    )
    return {row["id"] for row in accepted}


class DeliveredMessage(NamedTuple):
    """A message delivered by `deliver_unchanged.sql`."""

    message_id: UUID
    attempt_id: UUID
    mode: str
    channel: str
    price: int
    provider: str


class AppliedReceipts(NamedTuple):
    """The number of applied receipts, and whether due ones may be left."""

    receipts: int
    may_have_left: bool


def deliver_unchanged(limit: int) -> AppliedReceipts:
    """Applies receipts that deliver unchanged messages."""
    started = time.time_ns()
    params = {"limit": limit, "zone": settings.TIME_ZONE}
    rows: list[dict[str, Any]] = fetch_rows(
        sql.in_changeable_months(_DELIVER_UNCHANGED), params, dict
    )
    counts = [(row.pop("applied"), row.pop("due")) for row in rows]
    if delivered := [DeliveredMessage(**row) for row in rows if row["message_id"]]:
        _announce(delivered, started)
    applied, due = counts[0]
    return AppliedReceipts(applied, may_have_left=applied < due)


def _announce(delivered: Sequence[DeliveredMessage], started: int) -> None:
    for row in delivered:
        metrics.count_message(row.mode, row.channel, "delivered")
        if tracing.is_on():
            attributes = {"kvitok.provider": row.provider, "kvitok.receipt.state": "delivered"}
            tracing.record_receipt(row.message_id, row.attempt_id, started, attributes)
    outcome_signals.publish(
        [Signal(row.message_id, "delivered", row.channel, "", row.price) for row in delivered]
    )
