"""Whether every migration of this code is applied."""

from functools import cache

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder


def unapplied_migrations() -> list[str]:
    applied = set(MigrationRecorder(connection).applied_migrations())
    return [f"{app}.{name}" for app, name in _on_disk() if (app, name) not in applied]


@cache
def _on_disk() -> list[tuple[str, str]]:
    return sorted(MigrationLoader(None, ignore_no_migrations=True).disk_migrations)
