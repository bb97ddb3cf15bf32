"""The file of a month: a `pg_dump` of a copy of its tables, and the checks of a restored one.

The copy has its own schema and no personal data: it omits every column that an erasure empties,
except the phones of messages and codes, of which it keeps only prefixes. So archives need no
erasures. Its tables have the service's names but none of its functions, triggers or types, so any
PostgreSQL can restore them.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from django.db import transaction

from billing.seals.proof import parts_of_transfers, sealed_parts
from operator_admin.backup import BackupError, postgres
from operator_admin.backup.manifest import DIGEST, sha256
from persons.columns import ERASED
from storage.months.calendar import next_month
from storage.months.partitions import partition
from storage.statements import sql_files
from storage.statements.queries import execute, fetch_tuples, fetch_value

# The sums of the tables, or of a copy.
SUMS = """
SELECT %s::date, company_id, kind, count(*), sum(amount), max(created_at) FROM {transfers}
GROUP BY company_id, kind
"""

MONTHLY = ("channels_message", "channels_attempt", "otp_verification", "billing_transfer")
# Rows of a month are found by their message; those of earlier months are deleted already.
BY_MESSAGE = ("channels_fallbackevent",)
# The purge has deleted all receipts and events of that age, so their tables are not copied.
TABLES = (*MONTHLY, *BY_MESSAGE)

_PHONE_PREFIX = r"CASE WHEN phone ~ '^\+?[0-9]{0,5}\*$' THEN phone ELSE '' END AS phone"
_SQL = sql_files.read_several(
    "operator_admin/archive_dumps.sql", sums=SUMS.format(transfers="billing_transfer")
)


def schema(month: date) -> str:
    return f"archive_{month:%Y_%m}"


@transaction.atomic
def create(month: date) -> None:
    execute(f"CREATE SCHEMA {schema(month)}")
    for table in TABLES:
        execute(f"CREATE TABLE {schema(month)}.{table} AS {_rows_query(table, month)}")
    execute(f"CREATE INDEX ON {schema(month)}.billing_transfer (company_id, created_at, id)")


@transaction.atomic
def drop(month: date) -> None:
    """Drops the copy; may wait for a program that a killed run has left running."""
    execute("SET LOCAL lock_timeout = '15min'")
    execute(f"DROP SCHEMA IF EXISTS {schema(month)} CASCADE")


def differences(month: date) -> list[str]:
    """Tables whose rows differ in the copy."""
    return [
        table
        for table in TABLES
        if _digest(f"{schema(month)}.{table}") != _digest(f"({_rows_query(table, month)})")
    ]


@contextmanager
def reading_copy(month: date) -> Iterator[None]:
    """Makes statements that only read see the copy's tables instead of the service's."""
    with transaction.atomic():
        execute("SET TRANSACTION READ ONLY")
        execute(f"SET LOCAL search_path = {schema(month)}, public")
        yield


def delete_originals(month: date) -> None:
    """Deletes a month's rows from tables that hold other months too; no session waits for them."""
    for table in BY_MESSAGE:
        execute(f"DELETE FROM {table} WHERE {_condition(month)}")  # noqa: S608


def _condition(month: date) -> str:
    return f"message_id < uuid7_at('{next_month(month):%Y-%m-%d} 00:00+00')"


def _rows_query(table: str, month: date) -> str:
    left_out = [name for name in ERASED.get(table, "").split() if name != "phone"]
    columns = fetch_value(_SQL["columns"], [_PHONE_PREFIX, table, left_out])
    if table in MONTHLY:
        return f"SELECT {columns} FROM {partition(table, month)}"  # noqa: S608 - our names
    return f"SELECT {columns} FROM {table} WHERE {_condition(month)}"  # noqa: S608


def _digest(rows: str) -> tuple[int, int]:
    [(count, digest)] = fetch_tuples(f"SELECT count(*), {DIGEST} FROM {rows} stored")  # noqa: S608
    return int(count), int(digest)


def write(month: date, path: Path, programs: Path | None) -> None:
    path.unlink(missing_ok=True)  # left by a run that was killed
    path.touch(mode=0o600)
    _run("pg_dump", programs, "-Fc", f"--schema={schema(month)}", f"--file={path}")


def restore(path: Path, programs: Path | None) -> None:
    """Restores the copy in one transaction; raises if its schema exists."""
    _run("pg_restore", programs, "--exit-on-error", "--single-transaction", str(path))


@contextmanager
def restored(month: date, path: Path, programs: Path | None) -> Iterator[None]:
    restore(path, programs)
    try:
        yield
    finally:
        drop(month)


def check_books(month: date, path: Path) -> None:
    """Raises unless the restored month has the books' sums, and its transfers match the seals."""
    with reading_copy(month):
        differs = fetch_value(_SQL["differs"], [month, month])
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
    """The file's name until it is checked and its SHA-256 is in the database."""
    return path.with_suffix(".partial")


def finish(path: Path, digest: str) -> None:
    """Renames the file durably; raises if its digest differs."""
    if partial(path).exists():
        partial(path).rename(path)
    require_digest(path, digest)
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)  # makes the rename durable
    finally:
        os.close(descriptor)


def require_digest(path: Path, digest: str) -> None:
    if sha256(path) != digest:
        raise BackupError(f"{path} is damaged: its SHA-256 differs")


def _run(name: str, programs: Path | None, *arguments: str) -> None:
    server = postgres.server_version()
    program = postgres.find_program(name, server=server, folder=programs)
    postgres.run(program, "--no-owner", "--no-privileges", *arguments)
