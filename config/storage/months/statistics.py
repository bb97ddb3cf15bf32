"""Statistics of a month that has just begun.

Until its first ANALYZE PostgreSQL knows nothing of a month's ids, and walks through all of it for
each look-up; autovacuum comes once a minute. A thread of each worker looks after it: a task would
be sent to workers of an older release as well, which know nothing of it.
"""

import structlog
from django.db import OperationalError, connection
from django.utils import timezone

from config.background import PeriodicThread
from config.storage.months.partitions import TABLES

log = structlog.get_logger(__name__)

INTERVAL = 5.0  # seconds
FEWEST_CHANGES, LARGEST = 100, 100_000  # rows; autovacuum is soon enough for what is larger

# Months that have at least doubled. An older role may not be granted the function yet.
_DOUBLED = """
SELECT c.relname FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid
WHERE c.relname = ANY(%s) AND c.relispartition AND c.reltuples < %s
  AND s.n_mod_since_analyze >= GREATEST(%s, c.reltuples)
  AND has_function_privilege('analyze_month_partition(regclass)', 'EXECUTE')
ORDER BY c.relname
"""


def analyze_doubled() -> list[str]:
    """Analyzes this month's tables while they are young; returns their names."""
    suffix = f"_{timezone.now():%Y_%m}"
    with connection.cursor() as cursor:
        names = [table.name + suffix for table in TABLES]
        cursor.execute(_DOUBLED, [names, LARGEST, FEWEST_CHANGES])
        found = [name for (name,) in cursor.fetchall()]
        for name in found:
            try:
                cursor.execute("SELECT analyze_month_partition(%s::regclass)", [name])
            except OperationalError as error:  # autovacuum has it, or a migration
                log.info("month_not_analyzed", table=name, error=type(error).__name__)
    return found


def analyzing_thread() -> PeriodicThread:
    return PeriodicThread("months", analyze_doubled, INTERVAL)
