"""Drop indexes of which another one of the same table answers every query."""

from django.db import migrations

# Made by Django for LIKE on a prefix, which nothing asks of these columns.
DUPLICATES = {
    "billing_package_code_48a24908_like": "billing_package (code varchar_pattern_ops)",
    "billing_transfer_key_53e80a31_like": "billing_transfer (key varchar_pattern_ops)",
}


def drop(name: str, target: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f'DROP INDEX CONCURRENTLY IF EXISTS "{name}"',
        f'CREATE INDEX CONCURRENTLY IF NOT EXISTS "{name}" ON {target}',
    )


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("billing", "0002_rename_told_at")]

    operations = [
        *(drop(name, target) for name, target in DUPLICATES.items()),
    ]
