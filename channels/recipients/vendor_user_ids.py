"""People as vendors know them: the id that a vendor may tell in place of the phone.

Learnt from receipts of what we sent, so that STOP of a person who hides the phone is heard.
"""

from collections.abc import Sequence
from uuid import UUID

from django.db import connection

from channels.providers.base import Recipient
from channels.vendor_accounts.registry import vendor_of

# A person who is written to daily costs one write a day.
_REMEMBER = """
INSERT INTO channels_knownrecipient AS known (vendor, user_id, attempt_id)
SELECT %(vendor)s, user_id, attempt_id
FROM unnest(%(user_ids)s::text[], %(attempts)s::uuid[]) AS told(user_id, attempt_id)
ON CONFLICT (vendor, user_id) DO UPDATE SET attempt_id = excluded.attempt_id, seen_at = now()
WHERE known.seen_at < now() - interval '1 day'
"""
_PHONE = """
SELECT m.phone FROM channels_knownrecipient k
JOIN channels_attempt a ON a.id = k.attempt_id JOIN channels_message m ON m.id = a.message_id
WHERE k.vendor = %s AND k.user_id = %s
"""


def remember(provider: str, recipients: Sequence[Recipient]) -> None:
    known = {one.user_id: ref for one in recipients if (ref := _attempt_id(one.ref))}
    if not known:
        return
    # In one order, so that two calls about the same people do not wait for each other in a ring.
    told = sorted(known.items())
    params: dict[str, str | list[str] | list[UUID]] = {
        "vendor": vendor_of(provider),
        "user_ids": [user_id for user_id, _ in told],
        "attempts": [attempt_id for _, attempt_id in told],
    }
    with connection.cursor() as cursor:
        cursor.execute(_REMEMBER, params)


def phone_of(provider: str, user_id: str) -> str:
    """Empty when this person was never sent to, or so long ago that the phone is forgotten."""
    with connection.cursor() as cursor:
        cursor.execute(_PHONE, [vendor_of(provider), user_id])
        row = cursor.fetchone()
    phone: str = row[0] if row else ""
    return "" if phone.endswith("*") else phone


def _attempt_id(ref: str) -> UUID | None:
    try:
        return UUID(ref)
    except ValueError:
        return None
