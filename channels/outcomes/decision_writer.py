"""Loads locked messages, and writes the decisions about them."""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings
from django.db.backends.utils import CursorWrapper

from billing.wallet import ledger
from catalogue.ids import uuid7
from channels import sql
from channels.lifecycle.snapshots import (
    AttemptState,
    Decision,
    FallbackStep,
    MessageState,
    Snapshot,
)
from storage.months.recent_ids import limit_to_months, months_of
from storage.statements import sql_files
from storage.statements.json_rows import dump_rows
from webhooks import events as outbox

_UPDATE_ATTEMPTS = sql_files.read("channels/outcomes/update_attempts.sql")
_UPDATE_MESSAGES = sql_files.fill(
    sql_files.read("channels/outcomes/update_messages.sql"), stale_days=sql.MESSAGES["stale_days"]
)
# The columns to write, without conversion: the statements know their types.
_ATTEMPT_COLUMNS = (
    "id",
    "state",
    "provider_id",
    "error_class",
    "error_code",
    "error_detail",
    "polls",
    "poll_in",
)
_MESSAGE_COLUMNS = (
    "id",
    "state",
    "error",
    "channel",
    "chain",
    "hold",
    "due_in",
    "price",
    "is_owed",
)
_Columns = tuple[Any, ...]
_CHAIN = MessageState._fields.index("chain")


def lock_messages(cursor: CursorWrapper, ids: Sequence[UUID]) -> None:
    cursor.execute(limit_to_months(sql.MESSAGES["lock"], months_of(ids)), [list(ids)])


def load_messages(cursor: CursorWrapper, ids: Sequence[UUID]) -> list[Snapshot]:
    """Reads messages with their attempts. The caller holds their locks."""
    if not ids:
        return []
    cursor.execute(limit_to_months(sql.MESSAGES["load"], months_of(ids)), [list(ids)])
    # Looks columns up by name once for all rows: a dict for each row takes longer than `decide`.
    index_of = {column.name: index for index, column in enumerate(cursor.description)}
    attempt_names = [f"attempt_{name}" for name in AttemptState._fields]
    of_message = itemgetter(*(index_of[name] for name in MessageState._fields))
    of_attempt = itemgetter(*(index_of[name] for name in attempt_names if name in index_of))
    rows = [(of_message(row), of_attempt(row)) for row in cursor.fetchall()]
    return [_snapshot(list(group)) for _, group in groupby(rows, key=lambda row: row[0][0])]


def _snapshot(rows: Sequence[tuple[_Columns, _Columns]]) -> Snapshot:
    """A snapshot from its rows; the chain is parsed here: raw cursors return jsonb as text."""
    message = MessageState(*rows[0][0])
    chain = tuple(FallbackStep(**step) for step in orjson.loads(rows[0][0][_CHAIN]))
    attempts = tuple(AttemptState(*columns) for _, columns in rows if columns[0] is not None)
    return Snapshot(message._replace(chain=chain), attempts)


def write_decisions(cursor: CursorWrapper, decisions: Sequence[Decision]) -> list[Decision]:
    """Writes attempts, messages, webhook events, then money; returns the changes of messages."""
    _write_attempts(cursor, [decision for decision in decisions if decision.changed_attempts])
    changes = [decision for decision in decisions if decision.changes_message]
    if changes:
        _write_messages(cursor, changes)
        _insert_fallback_events(cursor, changes)
        _append_webhook_events(cursor, changes)
        ledger.settle(
            cursor, [settlement for decision in changes for settlement in decision.settlements]
        )
    return changes


def _write_attempts(cursor: CursorWrapper, decisions: Sequence[Decision]) -> None:
    if not decisions:
        return
    changes = [pair for decision in decisions for pair in decision.changed_attempts]
    months = months_of(decision.message.id for decision in decisions)
    inherited = [
        (after.id, after.provider_id)
        for before, after in changes
        if after.n > 1 and after.provider_id != before.provider_id
    ]
    if inherited:
        cursor.execute(
            limit_to_months(sql.MESSAGES["take_over_provider_ids"], months), _transpose(inherited)
        )
    rows = [{name: getattr(after, name) for name in _ATTEMPT_COLUMNS} for _, after in changes]
    cursor.execute(limit_to_months(_UPDATE_ATTEMPTS, months), {"attempts": dump_rows(rows)})


def _write_messages(cursor: CursorWrapper, changes: Sequence[Decision]) -> None:
    rows = [
        {name: getattr(decision.message, name) for name in _MESSAGE_COLUMNS}
        | {
            "at": decision.delivered_at,
            "read_at": decision.read_at,
            "is_read": decision.is_read,
            "fallback_in": decision.patience,
        }
        for decision in changes
    ]
    months = months_of(decision.message.id for decision in changes)
    params = {"messages": dump_rows(rows), "zone": settings.TIME_ZONE}
    cursor.execute(limit_to_months(_UPDATE_MESSAGES, months), params)


def _insert_fallback_events(cursor: CursorWrapper, changes: Sequence[Decision]) -> None:
    events = [
        (decision.message.id, reason.value, channel)
        for decision in changes
        for reason, channel in decision.fallback_events
    ]
    if events:
        cursor.execute(sql.MESSAGES["insert_fallback_events"], _transpose(events))


def _append_webhook_events(cursor: CursorWrapper, changes: Sequence[Decision]) -> None:
    """Appends the webhook events of subscribed companies, in the commit of the changes."""
    ids = [decision.message.id for decision in changes if decision.sends_webhook_event]
    if ids:
        event_ids = [uuid7() for _ in ids]
        statement = limit_to_months(sql.APPEND_MESSAGE_EVENTS, months_of(ids))
        cursor.execute(statement, [ids, event_ids])
        outbox.wake_dispatcher(cursor.rowcount)


def _transpose(rows: Sequence[tuple[object, ...]]) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)]
