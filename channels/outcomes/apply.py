"""Everything that happens to an attempt passes through `apply`: the only way out of a hold.

An outcome, a receipt, an entered code, a lease run out, a deadline: each is an event. A group of
them is one commit: lock, decide (`transitions` and `chain`, pure), write, settle the money. Only
where a message goes on to another channel the wallet is asked before it is written; it is still
the last of the locks that others wait for.
"""

from collections.abc import Sequence
from uuid import UUID

import orjson
from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from accounts.outbox import events as outbox
from billing.wallet import ledger
from channels import sql
from channels.accept import nudge, outcome_waiting, send_limits
from channels.lifecycle import fallback_chain
from channels.lifecycle.state_machine import AttemptState, Event, MessageState
from channels.lifecycle.state_machine import apply as apply_event
from channels.lifecycle.state_machine import give_up as give_up_message
from channels.lifecycle.steps import FallbackReason, Step
from config import metrics
from config.ids import uuid7

_REJECTION_REASONS = {
    ledger.HoldMoveResult.TOO_FEW_TOKENS: FallbackReason.TOKENS,
    ledger.HoldMoveResult.OVER_BUDGET: FallbackReason.BUDGET,
}
_MESSAGE_COLUMNS = 17  # of a message in `sql.LOAD_MESSAGES`; those of an attempt follow


def apply(events: Sequence[Event]) -> list[MessageState]:
    """Apply a group in one commit, then tell whoever waits. Safe to repeat."""
    with transaction.atomic(), connection.cursor() as cursor:
        messages = _apply(cursor, events)
    announce(messages)
    return messages


def apply_in_transaction(cursor: CursorWrapper, events: Sequence[Event]) -> list[MessageState]:
    """The same inside a transaction of the caller's, who calls `announce` after its commit."""
    return _apply(cursor, events)


def give_up(message_ids: Sequence[UUID]) -> list[MessageState]:
    """Expire messages no attempt is open for."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql.LOCK_MESSAGES, [list(message_ids)])
        # Looked at only now, under the lock: a worker may have claimed one in the meantime.
        idle = [one for one in load_messages(cursor, message_ids) if one.open_attempt is None]
        for message in idle:
            give_up_message(message)
        changed = write_changes(cursor, idle)
    announce(changed)
    return changed


def fall_back(message_ids: Sequence[UUID]) -> list[MessageState]:
    """On to the next channel for those whose patience is over still, when nobody holds them."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql.LOCK_PATIENCE_EXPIRED, [list(message_ids)])
        messages = load_messages(cursor, [row[0] for row in cursor.fetchall()])
        for message in messages:
            fallback_chain.expire_patience(message)
        changed = write_changes(cursor, messages)
    announce(changed)
    return changed


def announce(messages: Sequence[MessageState]) -> None:
    """After the commit: places back for what was refused, first, so that the sender who is
    then told can try another channel at once.
    """
    if not messages:
        return
    for message in messages:
        if message.moved:
            metrics.count_message(message.mode, message.channel, message.state)
        if message.state == "failed":
            send_limits.release(message)
    # Who waits is told how it ended, not of each channel and account on the way.
    told = [one for one in messages if not (one.has_gone_on or one.goes_on)]
    if told:
        outcome_waiting.publish(
            [
                outcome_waiting.Signal(one.id, one.state, one.channel, one.error, one.price)
                for one in told
            ]
        )
    if len(told) < len(messages):
        nudge.wake()


def _apply(cursor: CursorWrapper, events: Sequence[Event]) -> list[MessageState]:
    cursor.execute(sql.LOCK_BY_ATTEMPTS, [[event.attempt_id for event in events]])
    messages = load_messages(cursor, [row[0] for row in cursor.fetchall()])
    apply_to(messages, events)
    return write_changes(cursor, messages)


def apply_to(messages: Sequence[MessageState], events: Sequence[Event]) -> None:
    tries = {attempt.id: (message, attempt) for message in messages for attempt in message.attempts}
    for event in events:
        if event.attempt_id in tries:
            apply_event(*tries[event.attempt_id], event)


def load_messages(cursor: CursorWrapper, ids: Sequence[UUID]) -> list[MessageState]:
    """Messages with their attempts, for whoever has locked them."""
    found: dict[UUID, MessageState] = {}
    if ids:
        cursor.execute(sql.LOAD_MESSAGES, [list(ids)])
        for row in cursor.fetchall():
            columns, attempt = list(row[:_MESSAGE_COLUMNS]), row[_MESSAGE_COLUMNS:]
            # Django leaves jsonb as text on raw cursors
            columns[5] = [Step(**step) for step in orjson.loads(columns[5])]
            message = found.setdefault(row[0], MessageState(*columns))
            if attempt[0] is not None:
                message.attempts.append(AttemptState(*attempt))
    return list(found.values())


def write_changes(cursor: CursorWrapper, messages: Sequence[MessageState]) -> list[MessageState]:
    """Write what was decided; the wallet has its say first where a hold is to move. The messages
    that changed.
    """
    _move_holds(cursor, messages)
    _write_attempts(cursor, [each for one in messages for each in one.attempts])
    return _write_messages(cursor, messages)


def _move_holds(cursor: CursorWrapper, messages: Sequence[MessageState]) -> None:
    wishes = [(one, one.wish) for one in messages if one.wish]
    if not wishes:
        return
    moves = [fallback_chain.hold_move(message, wish) for message, wish in wishes]
    settled = {each.company_id for one in messages for each in one.settlements}
    moved = ledger.move_holds(cursor, moves, touching=settled)
    for message, wish in wishes:
        why = _REJECTION_REASONS.get(moved[message.id])
        if why is None:
            fallback_chain.accept_fallback(message, wish)
        else:
            fallback_chain.reject_fallback(message, wish, why)


def _write_attempts(cursor: CursorWrapper, attempts: Sequence[AttemptState]) -> None:
    named = [(one.id, one.provider_id) for one in attempts if one.n > 1 and one.is_named]
    if named:
        cursor.execute(sql.TAKE_OVER_PROVIDER_IDS, _transpose(named))
    rows = [
        (
            one.id,
            one.state,
            one.provider_id,
            one.error_class,
            one.error_code,
            one.error_detail,
            one.polls,
            one.poll_in,
        )
        for one in attempts
        if one.changed
    ]
    if rows:
        cursor.execute(sql.UPDATE_ATTEMPTS, _transpose(rows))


def _write_messages(cursor: CursorWrapper, messages: Sequence[MessageState]) -> list[MessageState]:
    changed = [one for one in messages if one.changed]
    rows = [
        (
            one.id,
            one.state,
            one.error,
            one.channel,
            orjson.dumps(one.chain).decode(),
            one.hold,
            one.due_in,
            one.at,
            one.read_at,
            one.is_read,
            one.price,
            one.is_owed,
            one.fallback_in,
        )
        for one in changed
    ]
    if rows:
        zone = settings.TIME_ZONE
        cursor.execute(sql.UPDATE_MESSAGES, [*_transpose(rows), zone, zone])
        _insert_turns(cursor, [(one.id, why.value, by) for one in changed for why, by in one.turns])
        _append_webhook_events(cursor, [one.id for one in changed if one.moved and one.is_heard])
        ledger.settle(cursor, [each for one in changed for each in one.settlements])
    return changed


def _insert_turns(cursor: CursorWrapper, turns: list[tuple[UUID, str, str]]) -> None:
    if turns:
        cursor.execute(sql.INSERT_TURNS, _transpose(turns))


def _append_webhook_events(cursor: CursorWrapper, moved: list[UUID]) -> None:
    """Events for those who asked for them, in the commit that moved the messages."""
    if moved:
        cursor.execute(sql.APPEND_MESSAGE_EVENTS, [moved, [uuid7() for _ in moved]])
        outbox.wake_dispatcher(cursor.rowcount)


def _transpose(rows: Sequence[tuple[object, ...]]) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)]
