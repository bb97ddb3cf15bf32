"""Which companies have changed what their keys carry since a process asked last.

Triggers note each change with the id of its transaction (`accounts_companychange`).
"""

from datetime import datetime
from typing import NamedTuple

from accounts.models import CompanyChange
from config.storage.statements.single_statement import fetch_rows


class Answer(NamedTuple):
    server: datetime  # when it was started: no two servers at the same microsecond
    oldest_running: int  # every transaction before this one has ended
    changes: frozenset[tuple[int, int]]  # transaction and company


# A transaction may commit long after younger ones, so neither a time nor the largest id seen says
# what is new. Whatever a snapshot does not see, and a later one does, began at the first one's xmin
# or later. Both bounds let a generic plan expect few rows; the upper one leaves out ids that a
# restored dump brought along from another server. The DELETE has a server refuse that only reads,
# such as an old primary that a connection has outlived (`config.primary_connection`).
_ASK = """
WITH nothing AS (DELETE FROM accounts_companychange WHERE false)
SELECT pg_postmaster_start_time() AS server,
  pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest_running,
  c.transaction_id, c.company_id
FROM (SELECT) AS one LEFT JOIN accounts_companychange c ON c.transaction_id >= %s
  AND c.transaction_id < pg_snapshot_xmax(pg_current_snapshot())::text::bigint
"""
_NOTHING_YET = 2**63 - 1


class _Change(NamedTuple):
    """A row of `_ASK`; the first one may have no change."""

    server: datetime
    oldest_running: int
    transaction_id: int | None
    company_id: int | None


class CompanyChanges:
    """What one process has heard: each question goes back to the last answer it has dealt with."""

    def __init__(self) -> None:
        self.last: Answer | None = None

    def ask(self) -> Answer:
        """One statement in autocommit, so of one snapshot. The caller makes the answer `last`."""
        since = _NOTHING_YET if self.last is None else self.last.oldest_running
        rows = fetch_rows(_ASK, [since], _Change)
        changes = frozenset(
            (row.transaction_id, row.company_id)
            for row in rows
            if row.transaction_id is not None and row.company_id is not None
        )
        return Answer(rows[0].server, rows[0].oldest_running, changes)

    def companies(self, answer: Answer) -> set[int] | None:
        """Those with changes that the last answer did not have; None: it may be any company.

        Another server, after a failover, may use the ids of transactions that the first one lost.
        """
        last = self.last
        if last is None or last.server != answer.server:
            return None
        if answer.oldest_running < last.oldest_running:
            return None
        companies = {company_id for _, company_id in answer.changes - last.changes}
        return None if CompanyChange.EVERY_COMPANY in companies else companies
