"""Which of its spellings a receipt's id was kept in when the vendor took the message."""

import time
from collections.abc import Sequence
from dataclasses import replace

from django.db.backends.utils import CursorWrapper

from channels.providers.base import Receipt

# A receipt can overtake the commit that records its id: tried again so many times, so far apart.
TRIES, PAUSE = 5, 0.1  # seconds

_KEPT = """
SELECT a.provider_id, m.phone FROM channels_attempt a
JOIN channels_message m ON m.id = a.message_id
WHERE a.provider = %(provider)s AND a.provider_id = ANY(%(ids)s)
UNION ALL
SELECT p.provider_id, m.phone FROM channels_part p
JOIN channels_attempt a ON a.id = p.attempt_id JOIN channels_message m ON m.id = a.message_id
WHERE p.provider = %(provider)s AND p.provider_id = ANY(%(ids)s)
"""

Kept = set[tuple[str, str]]  # ids that are there, each with its phone


def resolve(cursor: CursorWrapper, provider: str, receipts: Sequence[Receipt]) -> list[Receipt]:
    """The same receipts, under the ids that messages were taken under; one that nobody knows keeps
    the likeliest.
    """
    ids = [one for receipt in receipts if receipt.alternatives for one in _spellings(receipt)]
    kept: Kept = set()
    for attempt in range(TRIES if ids else 0):
        if attempt:
            time.sleep(PAUSE)
        cursor.execute(_KEPT, {"provider": provider, "ids": ids})
        kept = set(cursor.fetchall())
        if all(_found(receipt, kept) for receipt in receipts if receipt.alternatives):
            break
    return [replace(one, provider_id=_found(one, kept) or one.provider_id) for one in receipts]


def _spellings(receipt: Receipt) -> list[str]:
    return [receipt.provider_id or "", *receipt.alternatives]


def _found(receipt: Receipt, kept: Kept) -> str | None:
    """By id and phone; by the id alone where the centre names no phone of ours."""
    spellings = _spellings(receipt)
    ids = {one for one, phone in kept if phone == receipt.phone} or {one for one, _ in kept}
    return next((one for one in spellings if one in ids), None)
