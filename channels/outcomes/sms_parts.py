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
from channels.lifecycle.state_machine import Event, What
from channels.providers.hosted_provider import Part

Told = tuple[Event, int | None]  # with the row of the part it speaks of

FATEFUL = {What.REFUSED, What.UNREACHABLE, What.EXPIRED}  # for the whole, whichever part it was


def store(cursor: CursorWrapper, provider: str, part: Part) -> None:
    """Safe to repeat; what names no attempt of this provider's is left out."""
    known = (part.number, part.total, part.provider_id[:200], part.ref, provider)
    cursor.execute(sql.STORE_PART, known)


def judge(cursor: CursorWrapper, told: Sequence[Told]) -> list[Event]:
    """What receipts mean for whole messages; must be in the transaction that applies the events."""
    delivered = {part: event for event, part in told if part and event.what is What.DELIVERED}
    whole = _count_in(cursor, delivered) if delivered else set()
    return [
        event if part is None else replace(event, provider_id=None)
        for event, part in told
        if part is None or event.what in FATEFUL or event.attempt_id in whole
    ]


def _count_in(cursor: CursorWrapper, delivered: dict[int, Event]) -> set[UUID]:
    """The attempts that these parts, and those before them, make whole."""
    attempts = list({event.attempt_id for event in delivered.values()})
    cursor.execute(sql.LOCK, [attempts])
    cursor.execute(sql.PARTS_DELIVERED, [list(delivered)])
    cursor.execute(sql.WHOLE, [attempts])
    return {row[0] for row in cursor.fetchall()}
