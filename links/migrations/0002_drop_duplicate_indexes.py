"""Drop indexes of which another one of the same table answers every query."""

from django.db import migrations

# Made by Django for LIKE on a prefix, which nothing asks of these columns.
DUPLICATES = {
    "links_blockedhost_host_6fdf8e4c_like": "links_blockedhost (host varchar_pattern_ops)",
    "links_shorthost_host_323471e4_like": "links_shorthost (host varchar_pattern_ops)",
}


def drop(name: str, target: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f'DROP INDEX CONCURRENTLY IF EXISTS "{name}"',
        f'CREATE INDEX CONCURRENTLY IF NOT EXISTS "{name}" ON {target}',
    )


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("links", "0001_squashed")]

    operations = [
        *(drop(name, target) for name, target in DUPLICATES.items()),
    ]
