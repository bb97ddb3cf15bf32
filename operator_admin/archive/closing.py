"""Takes a month out of the tables, and its sums into the books, in one commit."""

from datetime import date

from django.db import connection, transaction

from billing.models import ArchivedMonth
from billing.wallet import running_balances
from config.storage.migration_locks import Say, retry
from config.storage.months import closed_months
from operator_admin.archive import ArchiveError

GIVE_UP_AFTER = 900.0  # seconds
# For each of six tables: all together less than the service's own limit of 3 s, and each less than
# `deadlock_timeout`, so that nobody else is chosen as a deadlock's victim.
LOCK_TIMEOUT = 0.15

SUMS = """
SELECT %s::date, company_id, kind, count(*), sum(amount), max(created_at) FROM {transfers}
GROUP BY company_id, kind
"""
_KEEP = f"""
INSERT INTO billing_archivedsum (month_id, company_id, kind, transfers, tokens, last_at) {SUMS}
"""
_NEWEST = "SELECT COALESCE(max(id), 0) FROM {transfers}"
# Balances before the end of the month were stored with transfers that are no longer here.
_DELETE_BALANCES = """
DELETE FROM billing_runningbalance r USING (
  SELECT company_id, max(last_at) AS last_at FROM billing_archivedsum GROUP BY company_id) AS gone
WHERE r.company_id = gone.company_id AND r.created_at <= gone.last_at
"""


def close(month: date, say: Say) -> None:
    """Nothing of the month is visible afterwards, and no wallet differs from its transfers."""
    retry(lambda: _close(month), give_up_after=GIVE_UP_AFTER, say=say)


@transaction.atomic
def _close(month: date) -> None:
    transfers = closed_months.partition("billing_transfer", month)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [running_balances.LOCK])
        cursor.execute(_NEWEST.format(transfers=transfers))
        (newest,) = cursor.fetchone()
        ArchivedMonth.objects.create(month=month)
        cursor.execute(_KEEP.format(transfers=transfers), [month])
        cursor.execute(_DELETE_BALANCES)
        closed_months.detach(month)
        cursor.execute(_NEWEST.format(transfers=transfers))
        if cursor.fetchone() != (newest,):
            raise ArchiveError(f"a transfer was added to {month:%Y-%m}: run the command again")
