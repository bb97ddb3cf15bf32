"""The `.sql` files that migrations run, such as functions and triggers."""

from pathlib import Path

from django.db.migrations.loader import MigrationLoader

from storage.schema_changes.operations import RunSqlFile


def installed() -> dict[str, str]:
    """By file: its digest in the newest migration that runs it."""
    migrations = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
    return {
        operation.path: operation.digest
        for key in sorted(migrations)
        for operation in migrations[key].operations
        if isinstance(operation, RunSqlFile)
    }


def defining(path: Path) -> bool:
    return "CREATE OR REPLACE" in path.read_text(encoding="utf-8")
