"""Proofs that are no receipts: what a message carried was used, so that it had arrived."""

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
    """Subjects that were used, each with the message it is known to have come by, if it is: settle
    one delivery of each, if none is yet, and send nothing of it by channels still to come.

    In the caller's transaction, who calls `outcomes.announce` after its commit.
    """
    subjects, known = ([row[0] for row in used], [row[1] for row in used])
    cursor.execute(sql.LOCK_BY_SUBJECTS, [subjects])
    messages = apply.load_messages(cursor, [row[0] for row in cursor.fetchall()])
    cursor.execute(sql.PROVED_ATTEMPTS, [subjects, known])
    proved = [row[0] for row in cursor.fetchall() if row[0] is not None]
    if proof is DeliveryProof.CLICK:
        by = {attempt.id: attempt.provider for one in messages for attempt in one.attempts}
        proved = [one for one in proved if registry.clicks_prove(by[one])]
    apply.apply_to(messages, [Event(one, EventKind.DELIVERED, proof=proof) for one in proved])
    for message in messages:
        fallback_chain.cancel_fallback(message, _CANCEL_REASONS[proof])
    return apply.write_changes(cursor, messages)
