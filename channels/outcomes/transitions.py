"""Applies events to messages and attempts, and settles their holds.

An outcome, a receipt, an entered code, an expired lease, a deadline: each is an event. A group of
events is one commit: lock, load, decide (`channels.lifecycle`, pure), pay fallbacks, write. Plain
acceptances and deliveries of unchanged messages take `unchanged_messages` instead.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from uuid import UUID

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from billing.wallet import ledger
from billing.wallet.ledger import DeliveryProof
from channels import sql
from channels.accept import send_limits
from channels.lifecycle import fallback_chain, state_machine
from channels.lifecycle.snapshots import Decision, FallbackReason, FallbackRequest, Snapshot
from channels.lifecycle.state_machine import CANCEL_REASONS, Event, EventKind
from channels.outcomes.decision_writer import load_messages, lock_messages, write_decisions
from channels.vendor_accounts import registry
from channels.waiting import outcome_signals, wakeups
from processes.monitoring import metrics
from storage.months.recent_ids import limit_to_months, months_of
from storage.statements import sql_files

_PROVED_ATTEMPT = sql_files.read("channels/outcomes/proved_attempt.sql")
_REJECTION_REASONS = {
    ledger.HoldMoveResult.TOO_FEW_TOKENS: FallbackReason.TOKENS,
    ledger.HoldMoveResult.OVER_BUDGET: FallbackReason.BUDGET,
}


def commit_events(events: Sequence[Event]) -> list[Decision]:
    """Applies a group of events in one commit, then announces the changes. Safe to repeat."""
    if not events:
        return []
    with transaction.atomic(), connection.cursor() as cursor:
        decisions = apply_in_transaction(cursor, events)
    announce(decisions)
    return decisions


def apply_in_transaction(cursor: CursorWrapper, events: Sequence[Event]) -> list[Decision]:
    """Applies events in the caller's transaction; after the commit the caller calls `announce`."""
    ids = list({event.message_id for event in events})
    lock_messages(cursor, ids)
    decisions = decide_each(load_messages(cursor, ids), events)
    return write_decisions(cursor, pay_fallbacks(cursor, decisions))


def decide_each(snapshots: Sequence[Snapshot], events: Sequence[Event]) -> list[Decision]:
    events_of: dict[UUID, list[Event]] = defaultdict(list)
    for event in events:
        events_of[event.message_id].append(event)
    return [
        state_machine.decide(snapshot, events_of[snapshot.message.id]) for snapshot in snapshots
    ]


def pay_fallbacks(cursor: CursorWrapper, decisions: Sequence[Decision]) -> list[Decision]:
    """Lets the wallet accept or reject the requested fallbacks; returns the decisions that result.

    Runs before the messages are written; still, the wallet's lock is the last one that other
    transactions wait for.
    """
    decisions = _without_taken_steps(cursor, decisions)
    moves = [
        fallback_chain.hold_move(decision.message, decision.fallback)
        for decision in decisions
        if decision.fallback
    ]
    if not moves:
        return list(decisions)
    settled = {
        settlement.company_id for decision in decisions for settlement in decision.settlements
    }
    results = ledger.move_holds(cursor, moves, touching=settled)
    return [
        _with_wallet_result(decision, decision.fallback, results[decision.message.id])
        if decision.fallback
        else decision
        for decision in decisions
    ]


def _without_taken_steps(
    cursor: CursorWrapper, decisions: Sequence[Decision]
) -> Sequence[Decision]:
    """Removes fallback steps that newer messages of the code make needless.

    These are steps to channels that a newer message uses, so that nobody gets a code twice by one
    channel; and all steps that nobody requested, once a newer message is delivered.
    """
    falling = [decision.message for decision in decisions if decision.fallback]
    if not falling:
        return decisions
    taken_channels: dict[UUID, set[str]] = defaultdict(set)
    pairs = [[message.id for message in falling], [message.subject_id for message in falling]]
    cursor.execute(sql.in_changeable_months(sql.MESSAGES["channels_of_newer"]), pairs)
    has_newer_delivered: set[UUID] = set()
    for message_id, channel, is_delivered in cursor.fetchall():
        taken_channels[message_id].add(channel)
        if is_delivered:
            has_newer_delivered.add(message_id)
    return [
        fallback_chain.skip_channels(
            decision,
            decision.fallback,
            taken_channels[decision.message.id],
            is_delivered=decision.message.id in has_newer_delivered,
        )
        if decision.fallback and decision.message.id in taken_channels
        else decision
        for decision in decisions
    ]


def _with_wallet_result(
    decision: Decision, request: FallbackRequest, result: ledger.HoldMoveResult
) -> Decision:
    rejection = _REJECTION_REASONS.get(result)
    if rejection is None:
        return fallback_chain.accept_fallback(decision, request)
    return fallback_chain.reject_fallback(decision, request, rejection)


def give_up(message_ids: Sequence[UUID]) -> list[Decision]:
    """Expires messages without an open attempt."""
    with transaction.atomic(), connection.cursor() as cursor:
        lock_messages(cursor, message_ids)
        # Checked under the lock, because a worker may have claimed one in the meantime.
        snapshots = load_messages(cursor, message_ids)
        idle = [snapshot for snapshot in snapshots if not snapshot.has_open_attempt]
        expired = [state_machine.give_up(snapshot) for snapshot in idle]
        decisions = write_decisions(cursor, pay_fallbacks(cursor, expired))
    announce(decisions)
    return decisions


def fall_back(message_ids: Sequence[UUID]) -> list[Decision]:
    """Switches messages to their next channel if, read under the lock, their patience has ended."""
    with transaction.atomic(), connection.cursor() as cursor:
        statement = limit_to_months(sql.MESSAGES["lock_patience_expired"], months_of(message_ids))
        cursor.execute(statement, [list(message_ids)])
        snapshots = load_messages(cursor, [message_id for (message_id,) in cursor.fetchall()])
        switched = [fallback_chain.expire_patience(snapshot) for snapshot in snapshots]
        decisions = write_decisions(cursor, pay_fallbacks(cursor, switched))
    announce(decisions)
    return decisions


def take_next_step(cursor: CursorWrapper, message_id: UUID, hold: int) -> Decision | None:
    """Switches the message to its next channel now.

    Returns None if there is no next channel, or if the message was switched since its hold was
    `hold`. A decision that leaves the hold at `hold` means that the wallet does not pay. Runs in
    the caller's transaction; the caller calls `announce` after the commit.
    """
    lock_messages(cursor, [message_id])
    (snapshot,) = load_messages(cursor, [message_id])
    decision = fallback_chain.take_next_step(snapshot)
    if snapshot.message.hold != hold or decision.fallback is None:
        return None
    (paid,) = pay_fallbacks(cursor, [decision])
    write_decisions(cursor, [paid])
    return paid if paid.message.chain or paid.message.hold > hold else None


def announce(decisions: Sequence[Decision]) -> None:
    """Publishes committed outcomes to the sends that wait for them, and wakes the workers.

    Send limits are released first, so that a notified sender can try another channel at once.
    """
    for decision in decisions:
        message = decision.message
        if decision.has_new_state:
            metrics.count_message(message.mode, message.channel, message.state)
        if message.state == "failed":
            send_limits.release(message)
    outcomes = [decision.message for decision in decisions if decision.is_outcome]
    if outcomes:
        outcome_signals.publish(
            [
                outcome_signals.Signal(item.id, item.state, item.channel, item.error, item.price)
                for item in outcomes
            ]
        )
    if len(outcomes) < len(decisions):
        wakeups.wake_workers()


def cancel(cursor: CursorWrapper, subjects: Sequence[UUID]) -> list[Decision]:
    """Cancels the messages of these subjects: none is tried again or by another channel.

    Holds return by the usual rules, at once if no vendor has the message. Runs in the caller's
    transaction; the caller calls `announce` after the commit.
    """
    cursor.execute(sql.in_changeable_months(sql.MESSAGES["lock_by_subjects"]), [list(subjects)])
    return _cancel_locked(cursor, FallbackReason.CANCELLED)


def end_blocked(phones: Collection[str]) -> None:
    """Ends the open messages to blocked phones, as `cancel` does."""
    if not phones:
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            sql.in_changeable_months(sql.MESSAGES["lock_open_by_phones"]), [list(phones)]
        )
        decisions = _cancel_locked(cursor, FallbackReason.BLOCKED)
    announce(decisions)


def _cancel_locked(cursor: CursorWrapper, reason: FallbackReason) -> list[Decision]:
    """Cancels the messages whose ids the last statement has locked and returns."""
    ids = [message_id for (message_id,) in cursor.fetchall()]
    _prevent_further_tries(cursor, ids)
    snapshots = load_messages(cursor, ids)
    cancelled = [fallback_chain.cancel(snapshot, reason) for snapshot in snapshots]
    return write_decisions(cursor, pay_fallbacks(cursor, cancelled))


def _prevent_further_tries(cursor: CursorWrapper, ids: Sequence[UUID]) -> None:
    """Ends further tries of these messages, which are locked and open."""
    if ids:
        cursor.execute(limit_to_months(sql.MESSAGES["end_use"], months_of(ids)), [list(ids)])


def prove(
    cursor: CursorWrapper, used: Sequence[tuple[UUID, UUID | None]], proof: DeliveryProof
) -> list[Decision]:
    """Settles one delivery of each used subject, unless one is settled, and cancels its fallback.

    `used` pairs a subject with the message that brought it, if known. Runs in the caller's
    transaction; the caller calls `transitions.announce` after the commit.
    """
    subjects = [subject_id for subject_id, _ in used]
    message_ids = [message_id for _, message_id in used]
    cursor.execute(sql.in_changeable_months(sql.MESSAGES["lock_by_subjects"]), [subjects])
    snapshots = load_messages(cursor, [message_id for (message_id,) in cursor.fetchall()])
    cursor.execute(sql.in_changeable_months(_PROVED_ATTEMPT), [subjects, message_ids])
    proved = {attempt_id for (attempt_id,) in cursor.fetchall()}
    events = [
        Event(snapshot.message.id, attempt.id, EventKind.DELIVERED, proof=proof)
        for snapshot in snapshots
        for attempt in snapshot.attempts
        if attempt.id in proved
        and (proof is not DeliveryProof.CLICK or registry.clicks_prove(attempt.provider))
    ]
    decisions = [
        fallback_chain.cancel_fallback(decision, CANCEL_REASONS[proof])
        for decision in decide_each(snapshots, events)
    ]
    if proof is DeliveryProof.CODE_ENTERED:
        _prevent_further_tries(
            cursor, [decision.message.id for decision in decisions if decision.message.is_open]
        )
    return write_decisions(cursor, pay_fallbacks(cursor, decisions))
