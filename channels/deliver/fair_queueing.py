"""Keeps one company's backlog from delaying other companies' messages.

The queue is claimed by priority and time. If many messages wait, the first FRONT messages of each
company keep their priority, and the rest go behind everybody's; each sweep moves the next ones up.
The claim does not reorder, because it would have to read the whole queue each time.
"""

from django.db import connection, transaction

from channels import sql
from storage import advisory_locks

FRONT = 32  # messages per company, as many as a worker claims at once
BATCH = 1000  # rows written by one sweep
LOCK = 0x6B766C74  # advisory lock of the one worker that reorders
_BEHIND = 2  # added to the priority of a code (0) or a link (1)

_IS_CROWDED = """
SELECT count(*) > %s FROM (
  SELECT FROM channels_openmessage WHERE due_at <= now() LIMIT %s) AS due
"""

# Locked rows are being claimed.
_REORDER = f"""
WITH placed AS (
  SELECT m.id, o.priority %% {_BEHIND} + CASE WHEN row_number() OVER (
      PARTITION BY m.company_id ORDER BY o.priority %% {_BEHIND}, o.due_at, m.id) > %s
    THEN {_BEHIND} ELSE 0 END AS priority
  FROM channels_openmessage o JOIN channels_message m ON m.id = o.message_id
  WHERE o.due_at <= now() AND m.id BETWEEN :first_id AND :last_id),
moved AS (
  SELECT m.id, placed.priority FROM placed JOIN channels_message m ON m.id = placed.id
  WHERE m.priority <> placed.priority AND m.due_at <= now()
    AND m.id BETWEEN :first_id AND :last_id
  ORDER BY placed.priority LIMIT %s FOR NO KEY UPDATE OF m SKIP LOCKED)
UPDATE channels_message m SET priority = moved.priority
FROM moved WHERE m.id = moved.id AND m.id BETWEEN :first_id AND :last_id
"""  # noqa: S608 - constants


def reorder() -> int:
    """Returns the number of moved messages."""
    with connection.cursor() as cursor:
        cursor.execute(_IS_CROWDED, [FRONT, FRONT + 1])
        (is_crowded,) = cursor.fetchone()
    return _move() if is_crowded else 0


@transaction.atomic
def _move() -> int:
    if not advisory_locks.try_lock(LOCK):  # another worker reorders
        return 0
    with connection.cursor() as cursor:
        cursor.execute(sql.in_changeable_months(_REORDER), [FRONT, BATCH])
        return int(cursor.rowcount)
