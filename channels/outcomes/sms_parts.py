"""Parts of a long SMS, which a vendor may accept and report one by one.

The SMS is delivered once every part is, and failed as soon as one part is. If later parts were
refused or got no response, not all parts are known: then only the recipient can prove delivery, or
the deadline releases the tokens.
"""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from django.db.backends.utils import CursorWrapper

from channels import sql
from channels.lifecycle.state_machine import Event, EventKind
from channels.outcomes.decision_writer import lock_messages
from channels.providers.inbound import Part
from parsing.characters import stored_text
from storage.statements import sql_files
from storage.statements.queries import execute

_SQL = sql_files.read_several("channels/outcomes/sms_parts.sql")


PartEvent = tuple[Event, int | None]  # with the id of the part that it is about, if any

# Fail the whole message, whichever part they are about.
FAILURES = {EventKind.REFUSED, EventKind.UNREACHABLE, EventKind.BARRED, EventKind.EXPIRED}


def store(provider: str, parts: Sequence[Part]) -> None:
    """Stores parts; skips parts of attempts unknown to this provider. Safe to repeat."""
    for part in parts:
        provider_id = stored_text(part.provider_id, 200)
        params = (part.number, part.total, provider_id, part.ref, provider)
        execute(sql.in_changeable_months(_SQL["store"]), params)


def resolve(cursor: CursorWrapper, events: Sequence[PartEvent]) -> list[Event]:
    """Turns events of parts into events of messages, in the transaction that applies them."""
    delivered = {
        part: event for event, part in events if part and event.kind is EventKind.DELIVERED
    }
    complete = _mark_delivered(cursor, delivered) if delivered else set()
    return [
        event if part is None else replace(event, provider_id=None)
        for event, part in events
        if part is None or event.kind in FAILURES or event.attempt_id in complete
    ]


def _mark_delivered(cursor: CursorWrapper, delivered: dict[int, Event]) -> set[UUID]:
    """Marks parts as delivered; returns the attempts that they complete."""
    attempts = list({event.attempt_id for event in delivered.values()})
    lock_messages(cursor, list({event.message_id for event in delivered.values()}))
    cursor.execute(_SQL["mark_delivered"], [list(delivered)])
    cursor.execute(_SQL["complete_attempts"], [attempts])
    return {attempt_id for (attempt_id,) in cursor.fetchall()}
