"""The file of a month: `pg_dump` of its copy, and what is checked of one that was restored."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from django.db import connection

from billing.seals.months import parts_of_transfers, sealed_parts
from operator_admin.archive import ArchiveError, copies
from operator_admin.archive.closing import SUMS
from operator_admin.backup import postgres_programs
from operator_admin.backup.manifest import sha256

_DIFFERS = f"""
WITH found AS ({SUMS.format(transfers="billing_transfer")}),
kept AS (SELECT month_id, company_id, kind, transfers, tokens, last_at
  FROM billing_archivedsum WHERE month_id = %s)
SELECT EXISTS ((TABLE found EXCEPT TABLE kept) UNION ALL (TABLE kept EXCEPT TABLE found))
"""  # noqa: S608 - constants


def write(month: date, path: Path, programs: Path | None) -> None:
    path.unlink(missing_ok=True)  # of a run that was killed
    path.touch(mode=0o600)
    _run("pg_dump", programs, "-Fc", f"--schema={copies.schema(month)}", f"--file={path}")


def restore(path: Path, programs: Path | None) -> None:
    """Brings the copy back, whole or not at all; raises if its schema is there."""
    _run("pg_restore", programs, "--exit-on-error", "--single-transaction", str(path))


@contextmanager
def restored(month: date, path: Path, programs: Path | None) -> Iterator[None]:
    restore(path, programs)
    try:
        yield
    finally:
        copies.drop(month)


def check_books(month: date, path: Path) -> None:
    """What was restored has what the books count of it, and each transfer as it was sealed."""
    with copies.visible(month):
        with connection.cursor() as cursor:
            cursor.execute(_DIFFERS, [month, month])
            (differs,) = cursor.fetchone()
        found = parts_of_transfers()
    if differs:
        raise ArchiveError(f"{path}: its sums are not those of the books")
    sealed = sealed_parts({f"{month:%Y-%m}"} | {name for _company, _day, name in found})
    for key in sorted(found.keys() | sealed.keys()):
        if found.get(key) != sealed.get(key):
            company, day, _month = key
            raise ArchiveError(
                f"{path}: the transfers of company {company} on {day} are not those that were "
                "sealed"
            )


def partial(path: Path) -> Path:
    """What the file is called until it is proved, and the database knows its SHA-256."""
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
        raise ArchiveError(f"{path} is damaged: its SHA-256 differs")


def _run(name: str, programs: Path | None, *arguments: str) -> None:
    server = postgres_programs.server_version()
    program = postgres_programs.find_program(name, server=server, folder=programs)
    postgres_programs.run(program, "--no-owner", "--no-privileges", *arguments)
