"""Proof of delivery without a receipt: the recipient used the code or link of a message."""

from collections.abc import Sequence
from uuid import UUID

from django.db.backends.utils import CursorWrapper

from billing.wallet.ledger import DeliveryProof
from channels import sql
from channels.lifecycle import fallback_chain
from channels.lifecycle.state_machine import Event, EventKind, MessageState
from channels.lifecycle.steps import FallbackReason
from channels.outcomes import apply
from channels.vendor_accounts import registry

_CANCEL_REASONS = {
    DeliveryProof.CODE_ENTERED: FallbackReason.CODE_ENTERED,
    DeliveryProof.CLICK: FallbackReason.CLICK,
}


def prove(
    cursor: CursorWrapper, used: Sequence[tuple[UUID, UUID | None]], proof: DeliveryProof
) -> list[MessageState]:
    """Settles one delivery of each used subject, unless one is settled, and cancels its fallback.

    `used` pairs a subject with the message that brought it, if known. Runs in the caller's
    transaction; the caller calls `apply.announce` after its commit.
    """
    subjects = [subject_id for subject_id, _ in used]
    message_ids = [message_id for _, message_id in used]
    cursor.execute(sql.LOCK_BY_SUBJECTS, [subjects])
    messages = apply.load_messages(cursor, [row[0] for row in cursor.fetchall()])
    cursor.execute(sql.PROVED_ATTEMPTS, [subjects, message_ids])
    proved = [attempt_id for (attempt_id,) in cursor.fetchall() if attempt_id is not None]
    if proof is DeliveryProof.CLICK:
        providers = {
            attempt.id: attempt.provider for message in messages for attempt in message.attempts
        }
        proved = [
            attempt_id for attempt_id in proved if registry.clicks_prove(providers[attempt_id])
        ]
    events = [Event(attempt_id, EventKind.DELIVERED, proof=proof) for attempt_id in proved]
    apply.apply_to(messages, events)
    for message in messages:
        fallback_chain.cancel_fallback(message, _CANCEL_REASONS[proof])
    return apply.write_changes(cursor, messages)
