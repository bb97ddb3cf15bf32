"""Applies events to attempts and messages; the only code that settles a hold.

An outcome, a receipt, an entered code, an expired lease, a deadline: each is an event. A group of
events is one commit: lock, decide (`state_machine` and `fallback_chain`, pure), write, settle the
money. When a message switches channels, the wallet decides before the message is written; its lock
is still the last one that others wait for.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from accounts.outbox import events as outbox
from billing.wallet import ledger
from channels import sql, wakeups
from channels.accept import send_limits
from channels.lifecycle import fallback_chain
from channels.lifecycle.state_machine import AttemptState, Event, MessageState
from channels.lifecycle.state_machine import apply as apply_event
from channels.lifecycle.state_machine import give_up as give_up_message
from channels.lifecycle.steps import FallbackReason, Step
from channels.waiting import outcome_signals
from config import metrics
from config.ids import uuid7

_REJECTION_REASONS = {
    ledger.HoldMoveResult.TOO_FEW_TOKENS: FallbackReason.TOKENS,
    ledger.HoldMoveResult.OVER_BUDGET: FallbackReason.BUDGET,
}
_MESSAGE_COLUMNS = 17  # of a message in `sql.LOAD_MESSAGES`; those of an attempt follow


def apply(events: Sequence[Event]) -> list[MessageState]:
    """Applies a group of events in one commit, then publishes the outcomes. Safe to repeat."""
    with transaction.atomic(), connection.cursor() as cursor:
        messages = _apply(cursor, events)
    announce(messages)
    return messages


def apply_in_transaction(cursor: CursorWrapper, events: Sequence[Event]) -> list[MessageState]:
    """Does the same in the caller's transaction; the caller calls `announce` after its commit."""
    return _apply(cursor, events)


def give_up(message_ids: Sequence[UUID]) -> list[MessageState]:
    """Expires messages without an open attempt."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql.LOCK_MESSAGES, [list(message_ids)])
        # Checked under the lock, since a worker may have claimed one in the meantime.
        messages = load_messages(cursor, message_ids)
        idle = [message for message in messages if message.open_attempt is None]
        for message in idle:
            give_up_message(message)
        changed = write_changes(cursor, idle)
    announce(changed)
    return changed


def fall_back(message_ids: Sequence[UUID]) -> list[MessageState]:
    """Switches messages to their next channel if their patience is still over under the lock."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql.LOCK_PATIENCE_EXPIRED, [list(message_ids)])
        messages = load_messages(cursor, [row[0] for row in cursor.fetchall()])
        for message in messages:
            fallback_chain.expire_patience(message)
        changed = write_changes(cursor, messages)
    announce(changed)
    return changed


def announce(messages: Sequence[MessageState]) -> None:
    """Publishes committed outcomes. Returns places in send limits first, so that a notified sender
    can try another channel at once.
    """
    if not messages:
        return
    for message in messages:
        if message.has_new_state:
            metrics.count_message(message.mode, message.channel, message.state)
        if message.state == "failed":
            send_limits.release(message)
    # Waiting senders get the outcome, not each channel and account on the way to it.
    settled = [
        message for message in messages if not (message.has_switched_channel or message.is_rerouted)
    ]
    if settled:
        outcome_signals.publish(
            [
                outcome_signals.Signal(
                    message.id, message.state, message.channel, message.error, message.price
                )
                for message in settled
            ]
        )
    if len(settled) < len(messages):
        wakeups.wake_workers()


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
    """Reads messages with their attempts. The caller holds their locks."""
    messages: dict[UUID, MessageState] = {}
    if ids:
        cursor.execute(sql.LOAD_MESSAGES, [list(ids)])
        for row in cursor.fetchall():
            columns, attempt = row[:_MESSAGE_COLUMNS], row[_MESSAGE_COLUMNS:]
            message_id, attempt_id = columns[0], attempt[0]
            message = messages.get(message_id)
            if message is None:
                message = messages[message_id] = _message_state(columns)
            if attempt_id is not None:
                message.attempts.append(AttemptState(*attempt))
    return list(messages.values())


def _message_state(columns: tuple[Any, ...]) -> MessageState:
    """Parses the chain here, since Django leaves jsonb as text on raw cursors."""
    message_id, company_id, mode, kind, channel, chain, *rest = columns
    steps = [Step(**step) for step in orjson.loads(chain)]
    return MessageState(message_id, company_id, mode, kind, channel, steps, *rest)


def write_changes(cursor: CursorWrapper, messages: Sequence[MessageState]) -> list[MessageState]:
    """Writes the decisions and returns the changed messages. The wallet first accepts or rejects
    requested fallbacks.
    """
    _move_holds(cursor, messages)
    _write_attempts(cursor, [attempt for message in messages for attempt in message.attempts])
    return _write_messages(cursor, messages)


def _move_holds(cursor: CursorWrapper, messages: Sequence[MessageState]) -> None:
    requests = [
        (message, message.fallback_request) for message in messages if message.fallback_request
    ]
    if not requests:
        return
    moves = [fallback_chain.hold_move(message, request) for message, request in requests]
    settled = {settlement.company_id for message in messages for settlement in message.settlements}
    results = ledger.move_holds(cursor, moves, touching=settled)
    for message, request in requests:
        rejection = _REJECTION_REASONS.get(results[message.id])
        if rejection is None:
            fallback_chain.accept_fallback(message, request)
        else:
            fallback_chain.reject_fallback(message, request, rejection)


def _write_attempts(cursor: CursorWrapper, attempts: Sequence[AttemptState]) -> None:
    inherited = [
        (attempt.id, attempt.provider_id)
        for attempt in attempts
        if attempt.n > 1 and attempt.has_new_provider_id
    ]
    if inherited:
        cursor.execute(sql.TAKE_OVER_PROVIDER_IDS, _transpose(inherited))
    rows = [
        (
            attempt.id,
            attempt.state,
            attempt.provider_id,
            attempt.error_class,
            attempt.error_code,
            attempt.error_detail,
            attempt.polls,
            attempt.poll_in,
        )
        for attempt in attempts
        if attempt.changed
    ]
    if rows:
        cursor.execute(sql.UPDATE_ATTEMPTS, _transpose(rows))


def _write_messages(cursor: CursorWrapper, messages: Sequence[MessageState]) -> list[MessageState]:
    changed = [message for message in messages if message.changed]
    rows = [
        (
            message.id,
            message.state,
            message.error,
            message.channel,
            orjson.dumps(message.chain).decode(),
            message.hold,
            message.due_in,
            message.at,
            message.read_at,
            message.is_read,
            message.price,
            message.is_owed,
            message.fallback_in,
        )
        for message in changed
    ]
    if rows:
        zone = settings.TIME_ZONE
        cursor.execute(sql.UPDATE_MESSAGES, [*_transpose(rows), zone, zone])
        _insert_fallback_events(
            cursor,
            [
                (message.id, reason.value, channel)
                for message in changed
                for reason, channel in message.fallback_events
            ],
        )
        _append_webhook_events(
            cursor,
            [
                message.id
                for message in changed
                if message.has_new_state and message.has_subscribers
            ],
        )
        ledger.settle(
            cursor, [settlement for message in changed for settlement in message.settlements]
        )
    return changed


def _insert_fallback_events(
    cursor: CursorWrapper, fallback_events: list[tuple[UUID, str, str]]
) -> None:
    if fallback_events:
        cursor.execute(sql.INSERT_FALLBACK_EVENTS, _transpose(fallback_events))


def _append_webhook_events(cursor: CursorWrapper, message_ids: list[UUID]) -> None:
    """Webhook events for subscribed companies, in the commit that changed the states."""
    if message_ids:
        cursor.execute(sql.APPEND_MESSAGE_EVENTS, [message_ids, [uuid7() for _ in message_ids]])
        outbox.wake_dispatcher(cursor.rowcount)


def _transpose(rows: Sequence[tuple[object, ...]]) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)]
