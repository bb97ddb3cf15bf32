"""Receipts by which sent messages are delivered, applied without loading the messages first.

Most receipts that a worker applies are these. One statement matches them, checks that the message
and its attempt are still open, writes both, charges the company and marks the receipts, instead of
the eight by which `channels.outcomes.transitions` handles any event. It leaves all others.
"""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings

from channels import sql
from channels.outcomes import receipts_sql
from channels.waiting import outcome_signals
from config.monitoring import metrics, tracing
from config.storage.statements.single_statement import fetch_rows


class Delivered(NamedTuple):
    """A message that `receipts_sql.DELIVER_UNCHANGED` has delivered."""

    message_id: UUID
    attempt_id: UUID
    mode: str
    channel: str
    price: int
    provider: str


def apply_stored(limit: int) -> tuple[int, bool]:
    """Returns how many receipts it has applied, and whether it may have left some."""
    started = time.time_ns()
    params = {"limit": limit, "zone": settings.TIME_ZONE}
    rows: list[dict[str, Any]] = fetch_rows(
        sql.recent(receipts_sql.DELIVER_UNCHANGED), params, dict
    )
    counts = [(row.pop("applied"), row.pop("due")) for row in rows]
    if delivered := [Delivered(**row) for row in rows if row["message_id"]]:
        _announce(delivered)
        if tracing.is_on():
            _trace(delivered, started)
    applied, due = counts[0]
    return applied, applied < due


def _announce(delivered: Sequence[Delivered]) -> None:
    for one in delivered:
        metrics.count_message(one.mode, one.channel, "delivered")
    outcome_signals.publish(
        [
            outcome_signals.Signal(one.message_id, "delivered", one.channel, "", one.price)
            for one in delivered
        ]
    )


def _trace(delivered: Sequence[Delivered], started: int) -> None:
    for one in delivered:
        attributes = {"kvitok.provider": one.provider, "kvitok.receipt.state": "delivered"}
        tracing.record_receipt(one.message_id, one.attempt_id, started, attributes)
