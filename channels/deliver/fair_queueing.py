"""Keeps one company's backlog from delaying other companies' messages.

The queue is claimed by priority and time. If many messages wait, the first FRONT messages of each
company keep their priority, and the rest go behind everybody's; each sweep moves the next ones up.
The claim does not reorder, because it would have to read the whole queue each time.
"""

from django.db import transaction

from channels import sql
from storage import advisory_locks
from storage.statements import sql_files
from storage.statements.queries import execute, fetch_value

FRONT = 32  # messages per company, as many as a worker claims at once
BATCH_SIZE = 1000  # rows written by one sweep
LOCK = 0x6B766C74  # advisory lock of the one worker that reorders
_BEHIND = 2  # added to the priority of a code (0) or a link (1)

_IS_CROWDED = """
SELECT count(*) > %s FROM (
  SELECT FROM channels_openmessage WHERE due_at <= now() LIMIT %s) AS due
"""

_REORDER = sql_files.fill(sql_files.read("channels/deliver/fair_queueing.sql"), behind=str(_BEHIND))


def reorder() -> int:
    """Reorders the queue if it is crowded; returns the number of moved messages."""
    return _move() if fetch_value(_IS_CROWDED, [FRONT, FRONT + 1]) else 0


@transaction.atomic
def _move() -> int:
    if not advisory_locks.try_lock(LOCK):  # another worker reorders
        return 0
    return execute(sql.in_changeable_months(_REORDER), [FRONT, BATCH_SIZE])
