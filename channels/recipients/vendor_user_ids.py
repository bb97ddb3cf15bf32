"""Vendors' user ids, which a vendor may report in place of the phone.

They are stored from receipts of our messages, so that STOP works for a person who hides the phone.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import orjson
from django.db import connection

from channels.providers.inbound import Recipient
from channels.vendor_accounts.registry import vendor_of

# A fragment of the statement that stores receipts: also one that is no news says who hides behind
# an id. At most one write a day per person.
REMEMBER = """
INSERT INTO channels_knownrecipient AS known (vendor, user_id, attempt_id)
SELECT vendor, user_id, attempt_id::uuid
FROM (SELECT %s::text AS vendor) v, json_each_text(%s::json) AS told(user_id, attempt_id)
WHERE NOT EXISTS (SELECT 1 FROM channels_knownrecipient seen
                  WHERE seen.vendor = v.vendor AND seen.user_id = told.user_id
                    AND seen.seen_at >= now() - interval '1 day')
ON CONFLICT (vendor, user_id) DO UPDATE SET attempt_id = excluded.attempt_id, seen_at = now()
WHERE known.seen_at < now() - interval '1 day'"""
_PHONE = """
SELECT m.phone FROM channels_knownrecipient k
JOIN channels_attempt a ON a.id = k.attempt_id JOIN channels_message m ON m.id = a.message_id
WHERE k.vendor = %s AND k.user_id = %s
"""


def params(provider: str, recipients: Sequence[Recipient]) -> list[Any]:
    """Of `REMEMBER`; empty without a recipient of ours."""
    by_user = {
        recipient.user_id: attempt_id
        for recipient in recipients
        if (attempt_id := _attempt_id(recipient.ref))
    }
    if not by_user:
        return []
    # Sorted, so that parallel calls cannot deadlock; JSON, since lists as parameters take longer.
    return [vendor_of(provider), orjson.dumps(dict(sorted(by_user.items()))).decode()]


def phone_of(provider: str, user_id: str) -> str:
    """Empty if this person got no message, or their phone is anonymised by now."""
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
