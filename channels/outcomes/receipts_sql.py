"""SQL of receipts, and of the parts of long SMS."""

from functools import cache

from channels.recipients import vendor_user_ids
from storage.statements import sql_files

DUE_RECEIPTS = sql_files.read("channels/outcomes/due_receipts.sql")

# A separate statement, since workers ask often and mostly nothing is due.
HAS_DUE_RECEIPTS = """
SELECT EXISTS (SELECT 1 FROM channels_receipt
               WHERE due_at <= now() AND received_at >= :start AND received_at < :end)
"""

DUE_RECEIPT_IDS = """
SELECT id FROM channels_receipt
WHERE due_at <= now() AND received_at >= :start AND received_at < :end ORDER BY due_at LIMIT %s
"""

_STORE = sql_files.read("channels/outcomes/store_receipts.sql")
_RECIPIENTS = f""",
recipients AS ({vendor_user_ids.REMEMBER})"""


@cache
def store(*, has_recipients: bool, skips_known: bool) -> str:
    """The statement with or without what these need."""
    return sql_files.fill(
        _STORE,
        stores_known="false" if skips_known else "true",
        recipients=_RECIPIENTS if has_recipients else "",
    )


STORE_PART = """
INSERT INTO channels_part (attempt_id, number, total, provider, provider_id)
SELECT a.id, %s, %s, a.provider, %s FROM channels_attempt a
WHERE a.id = %s AND a.provider = %s AND a.message_id BETWEEN :first_id AND :last_id
ON CONFLICT DO NOTHING
"""

# Under `LOCK_MESSAGES`, so that of two parts reported at once the second sees the first.
MARK_PARTS_DELIVERED = """
UPDATE channels_part SET delivered_at = COALESCE(delivered_at, now()) WHERE id = ANY(%s)
"""

# The given attempts whose parts are all delivered.
COMPLETE_ATTEMPTS = """
SELECT attempt_id FROM channels_part WHERE attempt_id = ANY(%s)
GROUP BY attempt_id HAVING count(delivered_at) = max(total)
"""

MARK_RECEIPTS_APPLIED = """
UPDATE channels_receipt r SET due_at = NULL, applied_at = now(), attempt_id = n.attempt_id
FROM unnest(%s::bigint[], %s::uuid[]) AS n(id, attempt_id)
WHERE r.id = n.id AND r.received_at >= :start AND r.received_at < :end
"""

# The delay grows with the receipt's age: receipts of messages sent by others come in numbers.
PARK_RECEIPTS = """
UPDATE channels_receipt
SET due_at = now() + GREATEST(make_interval(secs => %s), (now() - received_at) / 2)
WHERE id = ANY(%s) AND received_at >= :start AND received_at < :end
"""

MARK_RECEIPTS_UNMATCHED = """
UPDATE channels_receipt SET due_at = NULL
WHERE id = ANY(%s) AND received_at >= :start AND received_at < :end
"""
