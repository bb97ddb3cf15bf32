"""Acceptances by a vendor of messages that nobody has changed since their claim.

Most outcomes are these. The claim knows such a message and its only attempt, and an acceptance
takes both to `sent`, whatever else they are. So they are written in one statement that compares
their versions with what the claim wrote, instead of being locked, loaded, decided about and
written. `channels.outcomes.transitions` takes the others, as it takes all other events.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings

from channels import sql
from channels.lifecycle.state_machine import (
    FIRST_POLL_DELAY,
    Event,
    EventKind,
    FirstClaim,
    clean_provider_id,
)
from channels.waiting import outcome_signals
from config.monitoring import metrics
from config.storage.months.recent_ids import months_of, within
from config.storage.statements.json_rows import dump_rows
from config.storage.statements.single_statement import fetch_rows


def write_unchanged(events: Sequence[Event]) -> list[Event]:
    """Returns the events that it could not write."""
    acceptances = [event for event in events if _is_acceptance(event)]
    written = _write(acceptances) if acceptances else set()
    _announce(event for event in acceptances if event.attempt_id in written)
    return [event for event in events if event.attempt_id not in written]


def _is_acceptance(event: Event) -> bool:
    return event.kind is EventKind.ACCEPTED and event.first_claim is not None


def _write(acceptances: Sequence[Event]) -> set[UUID]:
    """The attempts that it has written."""
    rows = [_row(event, event.first_claim) for event in acceptances if event.first_claim]
    statement = within(sql.ACCEPT_AS_CLAIMED, months_of(event.message_id for event in acceptances))
    params = {"acceptances": dump_rows(rows), "zone": settings.TIME_ZONE}
    return {written.id for written in fetch_rows(statement, params, _Written)}


class _Written(NamedTuple):
    """A row of `sql.ACCEPT_AS_CLAIMED`."""

    id: UUID


def _row(event: Event, claim: FirstClaim) -> dict[str, Any]:
    return {
        "message_id": event.message_id,
        "attempt_id": event.attempt_id,
        "first_claim": claim.xid,
        "provider_id": clean_provider_id(event.provider_id) if event.provider_id else None,
        "poll_in": FIRST_POLL_DELAY if event.pollable else None,
    }


def _announce(accepted: Iterable[Event]) -> None:
    signals = []
    for event in accepted:
        if claim := event.first_claim:
            metrics.count_message(claim.mode, claim.channel, "sent")
            signals.append(
                outcome_signals.Signal(event.message_id, "sent", claim.channel, "", claim.price)
            )
    if signals:
        outcome_signals.publish(signals)
