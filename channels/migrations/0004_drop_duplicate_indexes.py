"""Drop indexes of which another one of the same table answers every query."""

from django.db import migrations

# Made by Django for LIKE on a prefix, which nothing asks of these columns.
DUPLICATES = {
    "channels_blockedphone_phone_4a857439_like": "channels_blockedphone (phone varchar_pattern_ops)",
    "channels_contact_phone_b32ce16e_like": "channels_contact (phone varchar_pattern_ops)",
    "channels_heartbeat_process_f6d5f1a9_like": "channels_heartbeat (process varchar_pattern_ops)",
    "channels_provideraccount_name_3c2ccbdc_like": "channels_provideraccount (name varchar_pattern_ops)",
}


def drop(name: str, target: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f'DROP INDEX CONCURRENTLY IF EXISTS "{name}"',
        f'CREATE INDEX CONCURRENTLY IF NOT EXISTS "{name}" ON {target}',
    )


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("channels", "0003_declared_channels")]

    operations = [
        *(drop(name, target) for name, target in DUPLICATES.items()),
    ]
