"""Proof of delivery without a receipt: the recipient used the code or link of a message."""

from collections.abc import Sequence
from uuid import UUID

from django.db.backends.utils import CursorWrapper

from billing.wallet.ledger import DeliveryProof
from channels import sql
from channels.lifecycle import fallback_chain
from channels.lifecycle.state_machine import CANCEL_REASONS, Event, EventKind
from channels.lifecycle.states import Decision
from channels.outcomes.decision_writer import load_messages, write_decisions
from channels.outcomes.transitions import decide_each
from channels.vendor_accounts import registry


def prove(
    cursor: CursorWrapper, used: Sequence[tuple[UUID, UUID | None]], proof: DeliveryProof
) -> list[Decision]:
    """Settles one delivery of each used subject, unless one is settled, and cancels its fallback.

    `used` pairs a subject with the message that brought it, if known. Runs in the caller's
    transaction; the caller calls `transitions.announce` after its commit.
    """
    subjects = [subject_id for subject_id, _ in used]
    message_ids = [message_id for _, message_id in used]
    cursor.execute(sql.recent(sql.LOCK_BY_SUBJECTS), [subjects])
    snapshots = load_messages(cursor, [message_id for (message_id,) in cursor.fetchall()])
    cursor.execute(sql.recent(sql.PROVED_ATTEMPTS), [subjects, message_ids])
    proved = {attempt_id for (attempt_id,) in cursor.fetchall()}
    events = [
        Event(one.message.id, attempt.id, EventKind.DELIVERED, proof=proof)
        for one in snapshots
        for attempt in one.attempts
        if attempt.id in proved and _can_prove(proof, attempt.provider)
    ]
    decisions = [
        fallback_chain.cancel_fallback(decision, CANCEL_REASONS[proof])
        for decision in decide_each(snapshots, events)
    ]
    return write_decisions(cursor, decisions)


def _can_prove(proof: DeliveryProof, provider: str) -> bool:
    return proof is not DeliveryProof.CLICK or registry.clicks_prove(provider)
