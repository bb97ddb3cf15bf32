"""Up to which moment the transfers are closed: none with an earlier time can appear any more.

A transfer's time is the start of its statement, so no earlier than the start of its transaction.
Until that ends nobody sees the transfer, however late it is inserted, and the transaction need
not have an id before. So neither ids nor transaction ids nor `pg_current_snapshot()` say what is
still to come. The oldest start among running transactions does: each of them holds a lock on its
virtual transaction id from its start until its commit is visible.
"""

from datetime import datetime, timedelta

from django.db import connection

# For clocks that a failover sets back, and the instant between a transaction's time and its lock.
MARGIN = timedelta(minutes=10)

# pg_locks shows every role's transactions, pg_stat_activity the start of our own and, with
# pg_read_all_stats, of all. A start that we may not see could be any, and so could that of a
# prepared transaction. Processes of the server itself have no user, and write no transfers.
_CLOSED_UNTIL = """
SELECT LEAST(now() - make_interval(secs => %(margin)s),
  (SELECT min(CASE WHEN a.query = '<insufficient privilege>' THEN '2000-01-01Z'
              ELSE a.xact_start END)
   FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
   WHERE l.locktype = 'virtualxid' AND l.mode = 'ExclusiveLock' AND l.pid <> pg_backend_pid()
     AND a.datname = current_database() AND a.usesysid IS NOT NULL),
  (SELECT '2000-01-01Z'::timestamptz FROM pg_prepared_xacts
   WHERE database = current_database() LIMIT 1))
"""


def closed_until(margin: timedelta = MARGIN) -> datetime:
    """Every transfer before this moment is committed, and visible to statements from now on."""
    with connection.cursor() as cursor:
        cursor.execute(_CLOSED_UNTIL, {"margin": margin.total_seconds()})
        until: datetime = cursor.fetchone()[0]
    return until
