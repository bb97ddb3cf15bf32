"""Deletes requests that are older than REQUEST_LOG_DAYS."""

from django.conf import settings
from django.db import connection

# The index by time names blocks, not rows: the purge reads whole ones, oldest first.
_DELETE = """
DELETE FROM accounts_apirequest WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM accounts_apirequest
  WHERE created_at < now() - make_interval(days => %s) LIMIT %s))
"""


def purge(limit: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_DELETE, [settings.REQUEST_LOG_DAYS, limit])
        return int(cursor.rowcount)
