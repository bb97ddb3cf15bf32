from typing import Any

from django.db import connection, migrations, models


is_checked = False  # `manage.py migrate` prepares all operations first; Django itself does not


class _AddField(migrations.AddField):
    """Fails if an earlier operation holds its lock while Django prepares this one."""

    def state_forwards(self, app_label: str, state: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()"
                " AND mode = 'AccessExclusiveLock' AND relation = to_regclass('scratch')"
            )
            (locks,) = cursor.fetchone()
        assert not (is_checked and locks), "the table is locked while the state is computed"
        super().state_forwards(app_label, state)


class Migration(migrations.Migration):
    dependencies = [("api_docs", "0004_two_tables")]

    operations = [
        _AddField("Scratch", "first", models.IntegerField(null=True)),
        _AddField("Scratch", "second", models.IntegerField(null=True)),
    ]
