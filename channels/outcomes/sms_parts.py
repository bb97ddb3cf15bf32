"""Long messages that a vendor takes, and reports of, part by part.

A message is delivered once every part of it is, and failed as soon as one is. Of a message whose
later parts were refused, or whose answers never came, not all parts are known: nothing proves its
delivery but the person, and without that its deadline gives the tokens back.
"""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from django.db.backends.utils import CursorWrapper

from channels import sql
from channels.lifecycle.state_machine import Event, EventKind
from channels.providers.hosted_provider import Part

PartEvent = tuple[Event, int | None]  # with the row of the part it speaks of

FAILURES = {
    EventKind.REFUSED,
    EventKind.UNREACHABLE,
    EventKind.EXPIRED,
}  # for the whole, whichever part it was


def store(cursor: CursorWrapper, provider: str, part: Part) -> None:
    """Safe to repeat; what names no attempt of this provider's is left out."""
    known = (part.number, part.total, part.provider_id[:200], part.ref, provider)
    cursor.execute(sql.STORE_PART, known)


def resolve_parts(cursor: CursorWrapper, told: Sequence[PartEvent]) -> list[Event]:
    """What receipts mean for whole messages; must be in the transaction that applies the events."""
    delivered = {part: event for event, part in told if part and event.what is EventKind.DELIVERED}
    whole = _mark_delivered(cursor, delivered) if delivered else set()
    return [
        event if part is None else replace(event, provider_id=None)
        for event, part in told
        if part is None or event.what in FAILURES or event.attempt_id in whole
    ]


def _mark_delivered(cursor: CursorWrapper, delivered: dict[int, Event]) -> set[UUID]:
    """The attempts that these parts, and those before them, make whole."""
    attempts = list({event.attempt_id for event in delivered.values()})
    cursor.execute(sql.LOCK_BY_ATTEMPTS, [attempts])
    cursor.execute(sql.MARK_PARTS_DELIVERED, [list(delivered)])
    cursor.execute(sql.COMPLETE_ATTEMPTS, [attempts])
    return {row[0] for row in cursor.fetchall()}
