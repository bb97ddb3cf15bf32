"""Takes backups, a dump and the sums of the books from one snapshot, and restores them.

A backup is restored into an empty database, which stays closed until the copy is proved.
"""

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from operator_admin.backup import BackupError, postgres
from operator_admin.backup.manifest import (
    FORMAT,
    Manifest,
    book_sums,
    differences,
    entries,
    missing_keys,
    needed_keys,
)
from operator_admin.backup.postgres import other_sessions, session_without_timeouts
from processes.monitoring.metrics import RELEASE
from storage.months import partitions
from storage.schema_changes.runs import unapplied_migrations
from storage.statements.queries import execute, fetch_tuples, fetch_value

DUMP = "dump"  # the folder with pg_dump's files
ARCHIVE_SCHEMAS = "archive_[0-9][0-9][0-9][0-9]_[0-9][0-9]"  # months with their own archives
SEALED_CODES = "otp_sealedcode"  # custom codes, which no backup may outlive
_WITH_MONTHS = (*(table.name for table in partitions.TABLES), "links_click")
_UNREADABLE = """
SELECT current_user, min(oid::regclass::text) FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'S')
AND NOT has_table_privilege(oid, 'SELECT') HAVING count(*) > 0
"""


def take_backup(directory: Path, *, jobs: int, programs: Path | None = None) -> Manifest:
    """Dumps the database into a new directory, renamed once it is complete."""
    partial = directory.with_name(f"{directory.name}.partial")
    if directory.exists():
        raise BackupError(f"{directory} exists: name a new directory.")
    with session_without_timeouts():
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
    # The transaction stays open until pg_dump ends, whose sessions read its snapshot.
    execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    # Snapshots do not cover DETACH: the dump could have a month's rows and the sums lack them. So
    # the tables are locked before the snapshot, until both are done.
    execute(f"LOCK TABLE {', '.join(_WITH_MONTHS)} IN ACCESS SHARE MODE")
    [(snapshot, taken_at)] = fetch_tuples("SELECT pg_export_snapshot(), clock_timestamp()")
    server = postgres.server_version()
    program = postgres.find_program("pg_dump", server=server, folder=programs)
    postgres.run(
        program,
        "--format=directory",
        f"--jobs={jobs}",
        f"--snapshot={snapshot}",
        f"--exclude-schema={ARCHIVE_SCHEMAS}",
        f"--exclude-table-data={SEALED_CODES}",
        "--no-owner",
        "--no-privileges",
        f"--file={directory / DUMP}",
    )
    return Manifest(
        format=FORMAT,
        release=RELEASE,
        taken_at=taken_at.astimezone(UTC).isoformat(timespec="milliseconds"),
        postgres=server,
        migrations=sorted(
            ".".join(row) for row in MigrationRecorder(connection).applied_migrations()
        ),
        keys=needed_keys(),
        sums=book_sums(),
        files=entries(directory),
    )


SESSIONS_END_WITHIN = 3.0  # seconds: a closed session, such as this command's first, ends soon
_RELATIONS = """
SELECT count(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = 'public' AND relkind IN ('r', 'p', 'v', 'm', 'S')
"""


@dataclass(frozen=True, slots=True)
class Choices:
    """The operator's options on the command line."""

    jobs: int = 2
    programs: Path | None = None
    replace: bool = False
    allow_missing_keys: bool = False


def check_backup(manifest: Manifest, directory: Path, choices: Choices) -> None:
    """Raises BackupError if this release with these settings cannot restore the backup."""
    present = {".".join(row) for row in _known_migrations()}
    if unknown := [name for name in manifest.migrations if name not in present]:
        raise BackupError(
            f"The backup was made by release {manifest.release}, which has migrations that this "
            f"release, {RELEASE}, does not know: {', '.join(unknown[:5])}. Restore it with "
            f"release {manifest.release} or newer."
        )
    missing = missing_keys(manifest.keys)
    if missing and not choices.allow_missing_keys:
        raise BackupError(
            "\n".join(missing) + "\nPut the keys back, or go on without them: --allow-missing-keys."
        )
    if damages := list(manifest.damages(directory)):
        raise BackupError("\n".join(damages) + "\nUse another backup: nothing was changed.")


def check_database(manifest: Manifest, choices: Choices) -> None:
    """Raises BackupError if the backup cannot be restored into the database."""
    server = postgres.server_version()
    if server < manifest.postgres:
        raise BackupError(
            f"The backup is of PostgreSQL {manifest.postgres}, and the server is {server}: "
            "restore into the same version or a newer one."
        )
    postgres.find_program("pg_restore", server=server, folder=choices.programs)
    if not is_empty() and not choices.replace:
        raise BackupError(
            f"The database {connection.settings_dict['NAME']} is not empty: create a new one, or "
            "discard its content with --replace."
        )
    require_no_sessions()


def require_no_sessions() -> None:
    """Raises if others are connected: closing the database does not affect open sessions."""
    deadline = time.monotonic() + SESSIONS_END_WITHIN
    while sessions := other_sessions():
        if time.monotonic() > deadline:
            raise BackupError(
                f"Others are connected to the database: {', '.join(sorted(set(sessions)))}. "
                "Stop every process of the service first."
            )
        time.sleep(0.1)


def is_empty() -> bool:
    return not fetch_value(_RELATIONS)


def empty_database() -> None:
    with transaction.atomic():
        execute("DROP SCHEMA public CASCADE")
        execute("CREATE SCHEMA public")


def load(manifest: Manifest, directory: Path, choices: Choices) -> list[str]:
    """Loads the dump; returns how the copy differs from the manifest."""
    program = postgres.find_program(
        "pg_restore", server=postgres.server_version(), folder=choices.programs
    )
    postgres.run(
        program,
        f"--jobs={choices.jobs}",
        "--exit-on-error",
        "--no-owner",
        "--no-privileges",
        str(directory / DUMP),
    )
    with transaction.atomic():
        execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        dumped = manifest.sums | {f"rows of {SEALED_CODES}": "0"}
        return differences(dumped, book_sums())


def migrate() -> list[str]:
    """Applies the migrations that the copy lacks; returns their names."""
    needed = unapplied_migrations()
    if needed:
        call_command("migrate", interactive=False, verbosity=0)
    return needed


def _known_migrations() -> Iterator[tuple[str, str]]:
    """The migrations on disk, and those replaced by squashed ones."""
    loader = MigrationLoader(None, ignore_no_migrations=True)
    for key, migration in loader.disk_migrations.items():
        yield key
        yield from migration.replaces
