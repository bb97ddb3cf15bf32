"""Takes a backup: a dump and the sums of its books, both of one snapshot."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder

from operator_admin.backup import BackupError, postgres
from operator_admin.backup.manifest import (
    FORMAT,
    Manifest,
    book_sums,
    entries,
    needed_keys,
)
from operator_admin.backup.postgres import patient_session
from processes.monitoring.metrics import RELEASE
from storage.months import partitions

DUMP = "dump"  # the folder with pg_dump's files
OF_ARCHIVES = "archive_[0-9][0-9][0-9][0-9]_[0-9][0-9]"  # months whose file is elsewhere
_WITH_MONTHS = (*(table.name for table in partitions.TABLES), "links_click")
_UNREADABLE = """
SELECT current_user, min(oid::regclass::text) FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'S')
AND NOT has_table_privilege(oid, 'SELECT') HAVING count(*) > 0
"""


def take_backup(directory: Path, *, jobs: int, programs: Path | None = None) -> Manifest:
    """Dump the database into a new directory, which gets its name once it is complete."""
    partial = directory.with_name(f"{directory.name}.partial")
    if directory.exists():
        raise BackupError(f"{directory} exists: name a new directory.")
    with patient_session():
        _require_readable()
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(mode=0o700, parents=True)  # it holds phone numbers
        manifest = _dump(partial, jobs=jobs, programs=programs)
    manifest.write(partial)
    partial.rename(directory)
    return manifest


def _require_readable() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_UNREADABLE)
        if unreadable := cursor.fetchone():
            role, table = unreadable
            raise BackupError(
                f"The role {role} may not read {table}: take the backup as the owner of the "
                "tables, or as a role in pg_read_all_data."
            )


@transaction.atomic
def _dump(directory: Path, *, jobs: int, programs: Path | None) -> Manifest:
    # Open until pg_dump has ended, for its sessions read the snapshot of this transaction.
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        # A month that is detached counts for no snapshot any more: pg_dump would have its rows and
        # the sums would not. The lock comes before the snapshot, and holds until both are done.
        cursor.execute(f"LOCK TABLE {', '.join(_WITH_MONTHS)} IN ACCESS SHARE MODE")
        cursor.execute("SELECT pg_export_snapshot(), clock_timestamp()")
        snapshot, taken_at = cursor.fetchone()
    server = postgres.server_version()
    program = postgres.find_program("pg_dump", server=server, folder=programs)
    postgres.run(
        program,
        "--format=directory",
        f"--jobs={jobs}",
        f"--snapshot={snapshot}",
        f"--exclude-schema={OF_ARCHIVES}",
        "--no-owner",
        "--no-privileges",
        f"--file={directory / DUMP}",
    )
    return Manifest(
        format=FORMAT,
        release=RELEASE,
        taken_at=_iso(taken_at),
        postgres=server,
        migrations=sorted(
            ".".join(row) for row in MigrationRecorder(connection).applied_migrations()
        ),
        keys=needed_keys(),
        sums=book_sums(),
        files=entries(directory),
    )


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds")
