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
from channels.lifecycle.state_machine import Attempt, Event, Message
from channels.lifecycle.state_machine import apply as apply_event
from channels.lifecycle.state_machine import give_up as give_up_message
from channels.lifecycle.steps import Step, Why
from config import metrics
from config.ids import uuid7

_STAYS = {ledger.Moved.TOO_FEW_TOKENS: Why.TOKENS, ledger.Moved.OVER_BUDGET: Why.BUDGET}
_COLUMNS = 17  # of a message in `sql.LIVES`; those of an attempt follow


def apply(events: Sequence[Event]) -> list[Message]:
    """Apply a group in one commit, then tell whoever waits. Safe to repeat."""
    with transaction.atomic(), connection.cursor() as cursor:
        messages = _apply(cursor, events)
    announce(messages)
    return messages


def apply_within(cursor: CursorWrapper, events: Sequence[Event]) -> list[Message]:
    """The same inside a transaction of the caller's, who calls `announce` after its commit."""
    return _apply(cursor, events)


def give_up(message_ids: Sequence[UUID]) -> list[Message]:
    """Expire messages no attempt is open for."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql.LOCK_MESSAGES, [list(message_ids)])
        # Looked at only now, under the lock: a worker may have claimed one in the meantime.
        idle = [one for one in lives(cursor, message_ids) if one.open_attempt is None]
        for message in idle:
            give_up_message(message)
        changed = record(cursor, idle)
    announce(changed)
    return changed


def fall_back(message_ids: Sequence[UUID]) -> list[Message]:
    """On to the next channel for those whose patience is over still, when nobody holds them."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql.LOCK_IMPATIENT, [list(message_ids)])
        messages = lives(cursor, [row[0] for row in cursor.fetchall()])
        for message in messages:
            fallback_chain.lose_patience(message)
        changed = record(cursor, messages)
    announce(changed)
    return changed


def announce(messages: Sequence[Message]) -> None:
    """After the commit: places back for what was refused, first, so that the sender who is
    then told can try another channel at once.
    """
    if not messages:
        return
    for message in messages:
        if message.moved:
            metrics.count_message(message.mode, message.channel, message.state)
        if message.state == "failed":
            send_limits.give_back(message)
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


def _apply(cursor: CursorWrapper, events: Sequence[Event]) -> list[Message]:
    cursor.execute(sql.LOCK, [[event.attempt_id for event in events]])
    messages = lives(cursor, [row[0] for row in cursor.fetchall()])
    apply_to(messages, events)
    return record(cursor, messages)


def apply_to(messages: Sequence[Message], events: Sequence[Event]) -> None:
    tries = {attempt.id: (message, attempt) for message in messages for attempt in message.attempts}
    for event in events:
        if event.attempt_id in tries:
            apply_event(*tries[event.attempt_id], event)


def lives(cursor: CursorWrapper, ids: Sequence[UUID]) -> list[Message]:
    """Messages with their attempts, for whoever has locked them."""
    found: dict[UUID, Message] = {}
    if ids:
        cursor.execute(sql.LIVES, [list(ids)])
        for row in cursor.fetchall():
            columns, attempt = list(row[:_COLUMNS]), row[_COLUMNS:]
            # Django leaves jsonb as text on raw cursors
            columns[5] = [Step(**step) for step in orjson.loads(columns[5])]
            message = found.setdefault(row[0], Message(*columns))
            if attempt[0] is not None:
                message.attempts.append(Attempt(*attempt))
    return list(found.values())


def record(cursor: CursorWrapper, messages: Sequence[Message]) -> list[Message]:
    """Write what was decided; the wallet has its say first where a hold is to move. The messages
    that changed.
    """
    _move_holds(cursor, messages)
    _write_attempts(cursor, [each for one in messages for each in one.attempts])
    return _write_messages(cursor, messages)


def _move_holds(cursor: CursorWrapper, messages: Sequence[Message]) -> None:
    wishes = [(one, one.wish) for one in messages if one.wish]
    if not wishes:
        return
    moves = [fallback_chain.move_of(message, wish) for message, wish in wishes]
    settled = {each.company_id for one in messages for each in one.settlements}
    moved = ledger.move_hold(cursor, moves, touching=settled)
    for message, wish in wishes:
        why = _STAYS.get(moved[message.id])
        if why is None:
            fallback_chain.go_on(message, wish)
        else:
            fallback_chain.stay(message, wish, why)


def _write_attempts(cursor: CursorWrapper, attempts: Sequence[Attempt]) -> None:
    named = [(one.id, one.provider_id) for one in attempts if one.n > 1 and one.is_named]
    if named:
        cursor.execute(sql.INHERIT_IDS, _columns(named))
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
        cursor.execute(sql.UPDATE_ATTEMPTS, _columns(rows))


def _write_messages(cursor: CursorWrapper, messages: Sequence[Message]) -> list[Message]:
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
        cursor.execute(sql.UPDATE_MESSAGES, [*_columns(rows), zone, zone])
        _note(cursor, [(one.id, why.value, by) for one in changed for why, by in one.turns])
        _tell(cursor, [one.id for one in changed if one.moved and one.is_heard])
        ledger.settle(cursor, [each for one in changed for each in one.settlements])
    return changed


def _note(cursor: CursorWrapper, turns: list[tuple[UUID, str, str]]) -> None:
    if turns:
        cursor.execute(sql.NOTE_TURNS, _columns(turns))


def _tell(cursor: CursorWrapper, moved: list[UUID]) -> None:
    """Events for those who asked for them, in the commit that moved the messages."""
    if moved:
        cursor.execute(sql.TELL, [moved, [uuid7() for _ in moved]])
        outbox.announce(cursor.rowcount)


def _columns(rows: Sequence[tuple[object, ...]]) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)]
