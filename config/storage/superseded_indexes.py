"""Indexes that only processes of an earlier release use. Others do without; dropped, they stop
costing each write.
"""

from typing import Any

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from config.storage.months.partitions import LOCK_TIMEOUT

SUPERSEDED = (
    "attempt_one_open",
    "message_due",
    "message_fallback",
    "message_open",
    "message_owed",
    "message_undelivered",
)
_PARTITIONED = "I"
_KINDS = "SELECT relname, relkind FROM pg_class WHERE relname = ANY(%s) AND relkind IN ('i', 'I')"


def left() -> list[str]:
    return sorted(_kinds())


def drop() -> None:
    """Outside of a transaction. Safe to repeat."""
    for name, kind in _kinds().items():
        with connection.cursor() as cursor:
            if kind == _PARTITIONED:
                _drop_of_partitioned(cursor, name)
            else:
                cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")


def _drop_of_partitioned(cursor: CursorWrapper, name: str) -> None:
    """PostgreSQL has no concurrent way. Nothing is read or written, but the table is locked."""
    with transaction.atomic():
        cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
        cursor.execute(f"DROP INDEX IF EXISTS {name}")


def drop_if_new(_apps: Any, _editor: Any) -> None:
    """For a migration: where there is a company, processes of an earlier release may be at work."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT NOT EXISTS (SELECT FROM accounts_company)")
        (is_new,) = cursor.fetchone()
    if is_new:
        drop()


def _kinds() -> dict[str, str]:
    with connection.cursor() as cursor:
        cursor.execute(_KINDS, [list(SUPERSEDED)])
        return dict(cursor.fetchall())
