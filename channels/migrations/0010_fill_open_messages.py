"""Fills the queue and what is indexed instead of states; new databases drop what that replaces."""

from typing import Any

from django.db import connection, migrations, models, transaction

from config.storage import superseded_indexes
from config.storage.concurrent_indexes import AddIndexConcurrently, RemoveIndexConcurrently

BATCH = 1000
FIRST = "00000000-0000-0000-0000-000000000000"

# In batches by id, each locked before it is read: a message that ends meanwhile gets no row.
NEXT_OPEN = """
SELECT m.id FROM channels_message m
WHERE m.id > %s AND (m.state IN ('queued', 'sent') OR m.is_owed)
  AND NOT EXISTS (SELECT FROM channels_openmessage WHERE message_id = m.id)
ORDER BY m.id LIMIT %s FOR UPDATE OF m
"""
ENQUEUE = """
INSERT INTO channels_openmessage
  (message_id, priority, due_at, useful_until, deadline, fallback_at, attempt_id)
SELECT m.id, m.priority, m.due_at, m.useful_until, m.deadline, m.fallback_at, a.id
FROM channels_message m LEFT JOIN channels_attempt a
  ON a.message_id = m.id AND a.state IN ('submitting', 'ambiguous', 'sent')
WHERE m.id = ANY(%s::uuid[]) AND (m.state IN ('queued', 'sent') OR m.is_owed)
ON CONFLICT DO NOTHING
"""
NEXT_UNDELIVERED = """
SELECT id FROM channels_message
WHERE id > %s AND state IN ('failed', 'expired') AND NOT is_undelivered
ORDER BY id LIMIT %s FOR NO KEY UPDATE
"""
MARK = """
UPDATE channels_message SET is_undelivered = true
WHERE id = ANY(%s::uuid[]) AND state IN ('failed', 'expired')
"""


def fill(_apps: Any, _editor: Any) -> None:
    for choose, write in ((NEXT_OPEN, ENQUEUE), (NEXT_UNDELIVERED, MARK)):
        last = FIRST
        while last := _batch(choose, write, last):
            pass


def _batch(choose: str, write: str, after: str) -> str:
    """The last id of the batch, or an empty text."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(choose, [after, BATCH])
        ids = [str(found) for (found,) in cursor.fetchall()]
        if ids:
            cursor.execute(write, [ids])
    return ids[-1] if ids else ""


SQUAWK_EXCEPTIONS = {
    "require-concurrent-index-deletion": "a partitioned table has no other way; others get theirs",
}


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("channels", "0009_open_messages")]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
        AddIndexConcurrently("Message", models.Index(condition=models.Q(is_undelivered=True), fields=["company", "mode", "created_at", "id"], name="message_is_undelivered")),
        AddIndexConcurrently("Attempt", models.Index(condition=models.Q(lease_until__isnull=False), fields=["lease_until"], name="attempt_leased")),
        RemoveIndexConcurrently("Attempt", "attempt_lease"),
        migrations.SeparateDatabaseAndState(
            [migrations.RunPython(superseded_indexes.drop_if_new, migrations.RunPython.noop)],
            [
                migrations.RemoveConstraint("Attempt", "attempt_one_open"),
                migrations.RemoveIndex("Message", "message_due"),
                migrations.RemoveIndex("Message", "message_fallback"),
                migrations.RemoveIndex("Message", "message_open"),
                migrations.RemoveIndex("Message", "message_owed"),
                migrations.RemoveIndex("Message", "message_undelivered"),
            ],
        ),
    ]
