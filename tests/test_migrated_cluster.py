"""The cluster that runs copy is the one that migrations make today."""

from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from tests import migrated_cluster


@pytest.mark.django_db
def test_nothing_is_left_to_migrate() -> None:
    executor = MigrationExecutor(connection)
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []


def test_changed_migration_makes_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    migration = tmp_path / "links/migrations/0001_initial.py"
    migration.parent.mkdir(parents=True)
    migration.write_text("operations = []")
    monkeypatch.setattr(migrated_cluster, "ROOT", tmp_path)
    before = migrated_cluster._digest()
    assert migrated_cluster._digest() == before
    migration.write_text("operations = [1]")
    assert migrated_cluster._digest() != before
