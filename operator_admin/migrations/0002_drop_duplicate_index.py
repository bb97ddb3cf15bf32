"""Drop the index for LIKE that Django makes of a text key; nothing asks for a prefix of it."""

from django.db import migrations

NAME = "operator_admin_alertrun_group_82da7b95_like"


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("operator_admin", "0001_alerts")]

    operations = [
        migrations.RunSQL(
            f'DROP INDEX CONCURRENTLY IF EXISTS "{NAME}"',
            f'CREATE INDEX CONCURRENTLY IF NOT EXISTS "{NAME}"'
            ' ON operator_admin_alertrun ("group" varchar_pattern_ops)',
        ),
    ]
