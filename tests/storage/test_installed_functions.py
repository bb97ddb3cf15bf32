"""Functions and triggers of the database are installed as their files have them."""

from config.environment.variables import ROOT
from storage.schema_changes.operations import digest_of
from tests.storage.installed_sql import defining, installed


def test_each_edit_of_a_file_has_a_migration_that_runs_it() -> None:
    assert installed() == {path: digest_of(path) for path in installed()}


def test_each_file_that_creates_something_is_run_by_a_migration() -> None:
    apps = {path.parent.parent for path in ROOT.glob("*/migrations/0001_initial.py")}
    files = {path for app in {*apps, ROOT / "storage"} for path in app.rglob("*.sql")}

    assert {str(path.relative_to(ROOT)) for path in files if defining(path)} <= installed().keys()
