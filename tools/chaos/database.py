"""Queries to a database that may be killed at any time: a result, or None."""

from collections.abc import Sequence
from typing import Any

import psycopg

CALLS_UNDER_WAY = """
SELECT count(*) FROM channels_attempt
WHERE state = 'submitting' AND started_at > now() - interval '200 ms'
"""

DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"

OPEN = "SELECT count(*) FROM channels_message WHERE (state IN ('queued', 'sent') OR is_owed)"

# What may still end in time: what is open later than this is late.
IN_TIME = f"{OPEN} AND deadline > now() - interval '5 s'"

# What will happen without a deadline: sends not yet tried, calls under way, receipts to apply.
UNDER_WAY = """
SELECT (SELECT count(*) FROM channels_message WHERE due_at IS NOT NULL
        AND state IN ('queued', 'sent'))
     + (SELECT count(*) FROM channels_attempt WHERE state = 'submitting' AND lease_until > now())
     + (SELECT count(*) FROM channels_receipt WHERE due_at <= now() + interval '1 second')
     + (SELECT count(*) FROM otp_verification
        WHERE verified_at IS NOT NULL AND settled_at IS NULL)
"""

# Accepted, nothing heard since, and the vendor can be asked.
POLLED = "SELECT count(*) FROM channels_attempt WHERE state = 'sent' AND poll_at IS NOT NULL"

AGE_POLLS = "UPDATE channels_attempt SET poll_at = now() WHERE state = 'sent' AND poll_at > now()"
AGE_LEASES = """
UPDATE channels_attempt SET lease_until = now() WHERE state = 'submitting' AND lease_until > now()
"""
AGE_DEADLINES = """
UPDATE channels_message SET deadline = now(), fallback_at = NULL, chain = '[]'
WHERE (state IN ('queued', 'sent') OR is_owed) AND deadline > now()
"""


class DatabaseProbe:
    """One connection, reopened after the server was down."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[Any] | None = None

    def number(self, query: str) -> int | None:
        rows = self._try(query)
        return int(rows[0][0]) if rows else None

    def change(self, statement: str) -> None:
        """Uses a new connection: the current one may lead to a killed server."""
        self.close()
        self._connected().execute(statement)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _try(self, query: str) -> Sequence[tuple[Any, ...]] | None:
        try:
            return self._connected().execute(query).fetchall()
        except psycopg.Error:
            self.close()
            return None

    def _connected(self) -> psycopg.Connection[Any]:
        if self._connection is None:
            self._connection = psycopg.connect(
                self._url, autocommit=True, connect_timeout=2, options="-c statement_timeout=2000"
            )
        return self._connection
