"""Functions and triggers of the database are installed as their files have them."""

from pathlib import Path

from django.db.migrations.loader import MigrationLoader

from config.environment.variables import ROOT
from storage.schema_changes.operations import RunSqlFile, digest_of


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


def test_each_edit_of_a_file_has_a_migration_that_runs_it() -> None:
    assert installed() == {path: digest_of(path) for path in installed()}


def test_each_file_that_creates_something_is_run_by_a_migration() -> None:
    apps = {path.parent.parent for path in ROOT.glob("*/migrations/0001_initial.py")}
    files = {path for app in {*apps, ROOT / "storage"} for path in app.rglob("*.sql")}

    assert {str(path.relative_to(ROOT)) for path in files if defining(path)} <= installed().keys()
