"""Everything that happens to an attempt passes through `apply`: the only way out of a hold.

An outcome, a receipt, an entered code, a lease run out, a deadline: each is an event. A group of
them is one commit: lock, decide (`transitions`, pure), write, settle the money, wallet last.
"""

from collections.abc import Iterable, Sequence
from uuid import UUID

import orjson
from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from accounts import events as outbox
from billing import ledger
from channels import limits, sql, waiting
from channels.transitions import Attempt, Event, Message
from channels.transitions import apply as apply_event
from channels.transitions import give_up as give_up_message
from config import metrics
from config.ids import uuid7


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
        cursor.execute(
            "SELECT id FROM channels_message WHERE id = ANY(%s) ORDER BY id FOR UPDATE",
            [list(message_ids)],
        )
        # Looked at only now, under the lock: a worker may have claimed one in the meantime.
        cursor.execute(sql.WITH_OPEN_ATTEMPT, [list(message_ids)])
        busy = {row[0] for row in cursor.fetchall()}
        messages = _messages(cursor, [one for one in message_ids if one not in busy])
        for message in messages.values():
            give_up_message(message)
        changed = _write_messages(cursor, messages.values())
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
            limits.give_back(message)
    waiting.publish(
        [
            waiting.Signal(message.id, message.state, message.channel, message.error)
            for message in messages
            if not message.goes_on
        ]
    )


def _apply(cursor: CursorWrapper, events: Sequence[Event]) -> list[Message]:
    cursor.execute(sql.LOCK, [[event.attempt_id for event in events]])
    attempts, message_of = {}, {}
    for *columns, message_id in cursor.fetchall():
        attempt = Attempt(*columns)
        attempts[attempt.id] = attempt
        message_of[attempt.id] = message_id
    messages = _messages(cursor, message_of.values())
    for event in events:
        if event.attempt_id in attempts:
            message = messages[message_of[event.attempt_id]]
            apply_event(message, attempts[event.attempt_id], event)
    _write_attempts(cursor, attempts.values())
    return _write_messages(cursor, messages.values())


def _messages(cursor: CursorWrapper, ids: Iterable[UUID]) -> dict[UUID, Message]:
    """Read after the lock, in a statement of its own, and so as the last commit left them."""
    cursor.execute(sql.MESSAGES, [list(ids)])
    found = {}
    for row in cursor.fetchall():
        columns = list(row)
        columns[5] = orjson.loads(columns[5])  # Django leaves jsonb as text on raw cursors
        found[row[0]] = Message(*columns)
    return found


def _write_attempts(cursor: CursorWrapper, attempts: Iterable[Attempt]) -> None:
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


def _write_messages(cursor: CursorWrapper, messages: Iterable[Message]) -> list[Message]:
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
        )
        for one in changed
    ]
    if rows:
        zone = settings.TIME_ZONE
        cursor.execute(sql.UPDATE_MESSAGES, [*_columns(rows), zone, zone])
        _tell(cursor, [one.id for one in changed if one.moved and one.is_heard])
        ledger.settle(cursor, [each for one in changed for each in one.settlements])
    return changed


def _tell(cursor: CursorWrapper, moved: list[UUID]) -> None:
    """Events for those who asked for them, in the commit that moved the messages."""
    if moved:
        cursor.execute(sql.TELL, [moved, [uuid7() for _ in moved]])
        outbox.announce(cursor.rowcount)


def _columns(rows: Sequence[tuple[object, ...]]) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)]
