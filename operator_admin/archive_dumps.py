"""The file of a month: `pg_dump` of a copy of its tables, and what is checked of a restored one.

The copy is in a schema of its own. Nothing that could be about a person is in it: every column that
an erasure empties is left out, but the phones of messages and codes, of which it only has
the prefix. So archives need no erasures. Its tables have the names of the service's own, and none
of their functions, triggers or types: any PostgreSQL can restore them.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from django.db import connection, transaction

from billing.seals.proof import parts_of_transfers, sealed_parts
from operator_admin.backup import BackupError, postgres
from operator_admin.backup.manifest import DIGEST, sha256
from persons.columns import ERASED
from storage.months.calendar import next_month
from storage.months.partitions import partition

# What the tables or a copy add up to.
SUMS = """
SELECT %s::date, company_id, kind, count(*), sum(amount), max(created_at) FROM {transfers}
GROUP BY company_id, kind
"""

MONTHLY = ("channels_message", "channels_attempt", "otp_verification", "billing_transfer")
# The rows of a month are found by their message; those of earlier months are gone already.
BY_MESSAGE = ("channels_fallbackevent",)
# The purge leaves no receipts and events this old: their tables are dropped without a copy.
TABLES = (*MONTHLY, *BY_MESSAGE)

_PREFIX = r"CASE WHEN phone ~ '^\+?[0-9]{0,5}\*$' THEN phone ELSE '' END AS phone"
_COLUMNS = """
SELECT string_agg(CASE attname WHEN 'phone' THEN %s ELSE quote_ident(attname) END, ', '
  ORDER BY attnum)
FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attname <> ALL(%s)
"""


def schema(month: date) -> str:
    return f"archive_{month:%Y_%m}"


@transaction.atomic
def create(month: date) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE SCHEMA {schema(month)}")
        for table in TABLES:
            cursor.execute(f"CREATE TABLE {schema(month)}.{table} AS {_rows(table, month)}")
        cursor.execute(
            f"CREATE INDEX ON {schema(month)}.billing_transfer (company_id, created_at, id)"
        )


@transaction.atomic
def drop(month: date) -> None:
    """Waits for a program that a killed run left behind: nobody else reads the copy."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '15min'")
        cursor.execute(f"DROP SCHEMA IF EXISTS {schema(month)} CASCADE")


def differences(month: date) -> list[str]:
    """Tables of which the copy has not exactly the rows."""
    return [
        table
        for table in TABLES
        if _digest(f"{schema(month)}.{table}") != _digest(f"({_rows(table, month)})")
    ]


@contextmanager
def visible(month: date) -> Iterator[None]:
    """Reads the copy's tables instead of the service's: for statements that only read."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        cursor.execute(f"SET LOCAL search_path = {schema(month)}, public")
        yield


def delete_originals(month: date) -> None:
    """Deletes rows from tables that hold other months too: nobody waits for them."""
    with connection.cursor() as cursor:
        for table in BY_MESSAGE:
            cursor.execute(f"DELETE FROM {table} WHERE {_condition(month)}")  # noqa: S608


def _condition(month: date) -> str:
    return f"message_id < uuid7_at('{next_month(month):%Y-%m-%d} 00:00+00')"


def _rows(table: str, month: date) -> str:
    left_out = [name for name in ERASED.get(table, "").split() if name != "phone"]
    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS, [_PREFIX, table, left_out])
        (columns,) = cursor.fetchone()
    if table in MONTHLY:
        return f"SELECT {columns} FROM {partition(table, month)}"  # noqa: S608 - our names
    return f"SELECT {columns} FROM {table} WHERE {_condition(month)}"  # noqa: S608


def _digest(rows: str) -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*), {DIGEST} FROM {rows} t")  # noqa: S608
        count, digest = cursor.fetchone()
    return int(count), int(digest)


_DIFFERS = f"""
WITH found AS ({SUMS.format(transfers="billing_transfer")}),
kept AS (SELECT month_id, company_id, kind, transfers, tokens, last_at
  FROM billing_archivedsum WHERE month_id = %s)
SELECT EXISTS ((TABLE found EXCEPT TABLE kept) UNION ALL (TABLE kept EXCEPT TABLE found))
"""  # noqa: S608 - constants


def write(month: date, path: Path, programs: Path | None) -> None:
    path.unlink(missing_ok=True)  # of a run that was killed
    path.touch(mode=0o600)
    _run("pg_dump", programs, "-Fc", f"--schema={schema(month)}", f"--file={path}")


def restore(path: Path, programs: Path | None) -> None:
    """Brings the copy back, whole or not at all; raises if its schema is there."""
    _run("pg_restore", programs, "--exit-on-error", "--single-transaction", str(path))


@contextmanager
def restored(month: date, path: Path, programs: Path | None) -> Iterator[None]:
    restore(path, programs)
    try:
        yield
    finally:
        drop(month)


def check_books(month: date, path: Path) -> None:
    """Raises unless the restored month has the sums of the books, and each transfer as it was
    sealed.
    """
    with visible(month):
        with connection.cursor() as cursor:
            cursor.execute(_DIFFERS, [month, month])
            (differs,) = cursor.fetchone()
        parts = parts_of_transfers()
    if differs:
        raise BackupError(f"{path}: its sums are not those of the books")
    sealed = sealed_parts({f"{month:%Y-%m}"} | {name for _company, _day, name in parts})
    for key in sorted(parts.keys() | sealed.keys()):
        if parts.get(key) != sealed.get(key):
            company, day, _month = key
            raise BackupError(
                f"{path}: the transfers of company {company} on {day} are not those that were "
                "sealed"
            )


def partial(path: Path) -> Path:
    """The name of the file until it is checked, and the database has its SHA-256."""
    return path.with_suffix(".partial")


def finish(path: Path, digest: str) -> None:
    """Names the file, on the disk too; raises unless it is the one with the digest."""
    if partial(path).exists():
        partial(path).rename(path)
    require(path, digest)
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)  # a rename is on the disk once its directory is
    finally:
        os.close(descriptor)


def require(path: Path, digest: str) -> None:
    if sha256(path) != digest:
        raise BackupError(f"{path} is damaged: its SHA-256 differs")


def _run(name: str, programs: Path | None, *arguments: str) -> None:
    server = postgres.server_version()
    program = postgres.find_program(name, server=server, folder=programs)
    postgres.run(program, "--no-owner", "--no-privileges", *arguments)
